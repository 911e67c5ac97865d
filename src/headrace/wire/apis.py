"""The APIs on the wire: one table, filled from the declarations in `messages`.

The broker advertises the part of it that it serves; this table only says what can be encoded and decoded.
"""

from typing import NamedTuple

from headrace.wire.messages import (  # noqa: F401  (importing a module is what declares its messages)
    acls,
    api_versions,
    cluster,
    configs,
    coordinators,
    features,
    fetch,
    group_offsets,
    groups_admin,
    groups_classic,
    groups_consumer,
    metadata,
    offsets,
    produce,
    producers,
    quorum,
    quotas,
    replicas,
    sasl,
    scram,
    tokens,
    topics,
    transactions,
)
from headrace.wire.schema import REQUESTS, RESPONSES, Request, Response


class Api(NamedTuple):
    key: int
    name: str
    request: type[Request]
    response: type[Response]
    min_version: int
    max_version: int
    first_flexible: int  # above max_version when no version is


def _api(request: type[Request]) -> Api:
    return Api(
        key=request.API_KEY,
        name=request.__name__.removesuffix("Request"),
        request=request,
        response=RESPONSES[request.API_KEY],
        min_version=request.VERSIONS[0],
        max_version=request.VERSIONS[-1],
        first_flexible=request.FLEXIBLE,
    )


APIS: dict[int, Api] = {key: _api(REQUESTS[key]) for key in sorted(REQUESTS)}
APIS_BY_NAME: dict[str, Api] = {api.name: api for api in APIS.values()}
