"""A broker that goes by rules, in this process, whose connections are signed in by the client id of their first request.

How a real connection gets its principal (a certificate, SASL) is another test's question.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headrace.broker.net.connection import Connection
from headrace.broker.net.dispatch import Dispatch
from headrace.broker.security.authorization import AUTHORIZER, KAFKAS_AUTHORIZER
from headrace.client.connection import ClientConnection
from headrace.security.operations import THE_CLUSTER, Operation, PatternType, Permission, ResourceType
from headrace.testing import Broker
from headrace.wire.apis import APIS
from headrace.wire.frame import parse_request_header
from headrace.wire.messages.acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from headrace.wire.schema import Request

ADMIN = "User:admin"
SECONDS_MAX = 20.0


@contextmanager
def signed_in_by_client_id() -> Iterator[None]:
    plain = Dispatch.dispatch

    def dispatch(self: Dispatch, connection: Connection, frame: memoryview) -> None:
        client_id = parse_request_header(frame)[3] or ""
        if client_id.startswith("User:") and connection.principal != client_id:
            connection.sign_in(client_id)
        plain(self, connection, frame)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dispatch, "dispatch", dispatch)
        yield


@contextmanager
def guarded_broker(data: Path | None = None, **settings: object) -> Iterator[Broker]:
    rules = {AUTHORIZER: KAFKAS_AUTHORIZER, "super.users": ADMIN, "offsets.topic.num.partitions": 1}
    more = {"transaction.state.log.num.partitions": 1, "group.initial.rebalance.delay.ms": 0}
    with signed_in_by_client_id(), Broker({**rules, **more, **settings}, in_process=True, data=data) as broker:
        yield broker


class Client:
    """One principal's connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    async def ask(self, request: Request, version: int | None = None) -> Any:
        api = APIS[request.API_KEY]
        version = api.max_version if version is None else version
        return await self._connection.ask(request, api.response, version, SECONDS_MAX)

    async def granted(self, *rules: AclCreation) -> None:
        """Makes the rules; for the admin."""
        made: CreateAclsResponse = await self.ask(CreateAclsRequest(list(rules)))
        assert [result.error_code for result in made.results] == [0] * len(rules), made


def rule(
    principal: str,
    kind: ResourceType,
    operation: Operation,
    name: str = THE_CLUSTER,
    *,
    permission: Permission = Permission.ALLOW,
    prefixed: bool = False,
    host: str = "*",
) -> AclCreation:
    pattern = PatternType.PREFIXED if prefixed else PatternType.LITERAL
    return AclCreation(kind, name, pattern, principal, host, operation, permission)


def as_principals(broker: Broker, principals: Sequence[str], work: Callable[..., Awaitable[None]]) -> None:
    """Runs `work` with a client for each principal."""

    async def run() -> None:
        opened = [await ClientConnection.open("127.0.0.1", broker.port, name, SECONDS_MAX) for name in principals]
        try:
            await work(*map(Client, opened))
        finally:
            for each in opened:
                each.close()

    asyncio.run(run())
