"""Clients that are made once per process and cluster: Spark reuses its Python workers, and what is connected stays so."""

from collections.abc import Hashable
from functools import cache
from typing import Any, Protocol, TypeVar, cast

from headrace.client.kafka_cluster import KafkaCluster
from headrace.spark.options import login_of

C = TypeVar("C", bound=KafkaCluster)


class Reaching(Protocol):
    """Options of a source or a sink."""

    @property
    def bootstrap(self) -> str: ...

    @property
    def client_id(self) -> str: ...

    @property
    def security(self) -> tuple[tuple[str, str], ...]: ...


def client_of(options: Reaching, kind: type[C]) -> C:
    return cast(C, _client(cast(Hashable, kind), options.bootstrap, options.client_id, options.security))


@cache
def _client(kind: Any, bootstrap: str, client_id: str, security: tuple[tuple[str, str], ...]) -> KafkaCluster:
    return cast(KafkaCluster, kind(bootstrap, client_id=client_id, security=login_of(security)))
