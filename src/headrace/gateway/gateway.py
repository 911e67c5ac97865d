"""The state that one gateway process shares: settings, one connection of each kind to the cluster, and running parts.

Where callers log in, each of them has a gateway too, with clients and parts that act as them (`callers`); the process's own
is then their `home`, and serves nobody.

A part is whatever lives as long as the process (webhooks, alerts, …): it is added before the start, started in the order
of the list and stopped in reverse. A gateway starts without brokers too; requests then say that none answers.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Protocol, TypeVar, cast

from starlette.requests import HTTPConnection
from starlette.types import Scope

from headrace.admin.admin import Admin
from headrace.base.bootstrap import parse_bootstrap
from headrace.client.bearer import for_librdkafka
from headrace.client.produce.producer import ALL, BatchingProducer
from headrace.client.properties import read_properties
from headrace.client.security import security_from
from headrace.client.writer_client import WriterClient
from headrace.gateway.broker_login import BrokerLogin, Trust
from headrace.gateway.intake import Intake
from headrace.gateway.problem import Problem
from headrace.gateway.rights import ClusterRights
from headrace.gateway.settings import GatewaySettings
from headrace.wire.compression import CODEC_NAMES

CLIENT_ID = "headrace-gateway"
GATEWAY_CLOSE_SECONDS_MAX = 5.0
# In the scope of a request: the gateway that acts as its caller.
CALLER = "headrace.caller"


class GatewayPart(Protocol):
    def start(self) -> Awaitable[None]: ...

    def stop(self) -> Awaitable[None]: ...


P = TypeVar("P", bound=GatewayPart)


class Gateway:
    client: WriterClient
    admin: Admin
    producer: BatchingProducer
    """acks=all, and no message twice or out of order by its own retries."""

    rights: ClusterRights

    def __init__(
        self, settings: GatewaySettings, identity: BrokerLogin | None = None, home: "Gateway | None" = None
    ) -> None:
        """`identity` and `home` are of a caller who has logged in."""
        self.settings = settings
        self.trust = Trust(settings.kafka) if settings.callers_log_in else None
        self.has_login = identity is not None or self.trust is None or bool(settings.service_config)
        self._identity = identity or _own_identity(settings, self.trust)
        self.home = home or self
        self.holder = ""
        """The holder of the credential, where there is a caller: of one, many may be logged in."""
        self.intake: Intake = home.intake if home else Intake(settings)
        self._parts: dict[type, GatewayPart] = {}
        self._lacking: dict[type, str] = {}

    @property
    def is_caller(self) -> bool:
        """Whether it acts as somebody who has logged in."""
        return self.home is not self

    def add(self, part: GatewayPart) -> None:
        self._parts[type(part)] = part

    def lack(self, kind: type, sentence: str) -> None:
        """Names a part that is not here, and why."""
        self._lacking[kind] = sentence

    def has(self, kind: type) -> bool:
        return kind in self._parts

    def part(self, kind: type[P]) -> P:
        if kind in self._lacking:
            raise Problem(503, "Not offered", self._lacking[kind], "docs/rest.md has what callers who log in may use")
        return cast(P, self._parts[kind])

    async def start(self) -> None:
        security = self._identity.security
        self.client = WriterClient(self.settings.bootstrap, client_id=CLIENT_ID, security=security)
        self.admin = Admin(parse_bootstrap(self.settings.bootstrap), CLIENT_ID, security)
        self.rights = ClusterRights(self.admin)
        self.producer = self.new_producer(ALL)
        for part in self._parts.values():
            await part.start()

    async def stop(self) -> None:
        for part in reversed(self._parts.values()):
            await part.stop()
        await self.producer.close(GATEWAY_CLOSE_SECONDS_MAX)
        self.admin.close()
        await self.client.close()

    def new_producer(self, acks: int) -> BatchingProducer:
        codec = CODEC_NAMES.index(self.settings.kafka.get("compression.type", "none"))
        return BatchingProducer(self.client, acks=acks, seconds_max=self.settings.delivery_seconds_max, codec=codec)

    def kafka_config(self) -> dict[str, Any]:
        """The settings of every confluent-kafka client of this process."""
        return {
            "bootstrap.servers": self.settings.bootstrap,
            "client.id": CLIENT_ID,
            "log_level": 0,
            "socket.connection.setup.timeout.ms": 3000,
            **self._identity.kafka,
        }

    def producer_config(self) -> dict[str, Any]:
        """The settings of confluent-kafka's own producers, which transactions need."""
        return {
            **self.kafka_config(),
            "delivery.timeout.ms": int(self.settings.delivery_seconds_max * 1000),
            "topic.metadata.propagation.max.ms": 5000,
            "queue.buffering.max.kbytes": self.settings.in_flight_bytes_max >> 10,
            # The same key goes to the same partition as with the Java client.
            "partitioner": "murmur2_random",
            "linger.ms": 1,
            **self._identity.kafka,
        }


async def gateway(connection: HTTPConnection) -> Gateway:
    """The dependency of handlers: `Annotated[Gateway, Depends(gateway)]`. A plain function FastAPI would run in a thread."""
    return gateway_of(connection.scope, connection.app.state.gateway)


def gateway_of(scope: Scope, own: Gateway) -> Gateway:
    """The gateway that serves this request: its caller's, or the process's own where nobody has to log in."""
    caller = scope.get(CALLER)
    if caller is not None:
        return cast(Gateway, caller)
    if own.trust is not None:
        raise Problem(
            401, "Not logged in", "nobody has logged in for this request", "send a name and a password, or a token"
        )
    return own


def _own_identity(settings: GatewaySettings, trust: Trust | None) -> BrokerLogin:
    if trust is None:
        return _login_of(settings.kafka)
    if not settings.service_config:
        return trust.nobody()
    return _login_of(read_properties(settings.service_config))


def _login_of(options: Mapping[str, str]) -> BrokerLogin:
    return BrokerLogin(security_from(options), for_librdkafka(options))
