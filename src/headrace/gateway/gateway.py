"""The state that one gateway process shares: settings, one connection of each kind to the cluster, and running parts.

A part is whatever lives as long as the process (webhooks, alerts, …): it is added before the start, started in the order
of the list and stopped in reverse. A gateway starts without brokers too; requests then say that none answers.
"""

from collections.abc import Awaitable
from typing import Any, Protocol, TypeVar, cast

from starlette.requests import HTTPConnection

from headrace.admin.admin import Admin
from headrace.base.bootstrap import parse_bootstrap
from headrace.client.produce.producer import ALL, Producer
from headrace.client.security import security_from
from headrace.client.writer_client import WriterClient
from headrace.gateway.intake import Intake
from headrace.gateway.settings import GatewaySettings
from headrace.wire.compression import CODEC_NAMES

CLIENT_ID = "headrace-gateway"
CLOSE_SECONDS_MAX = 5.0


class Part(Protocol):
    def start(self) -> Awaitable[None]: ...

    def stop(self) -> Awaitable[None]: ...


P = TypeVar("P", bound=Part)


class Gateway:
    client: WriterClient
    admin: Admin
    producer: Producer
    """acks=all, and no message twice or out of order by its own retries."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.intake = Intake(settings)
        self._parts: dict[type, Part] = {}

    def add(self, part: Part) -> None:
        self._parts[type(part)] = part

    def part(self, kind: type[P]) -> P:
        return cast(P, self._parts[kind])

    async def start(self) -> None:
        security = security_from(self.settings.kafka)
        self.client = WriterClient(self.settings.bootstrap, client_id=CLIENT_ID, security=security)
        self.admin = Admin(parse_bootstrap(self.settings.bootstrap), CLIENT_ID, security)
        self.producer = self.new_producer(ALL)
        for part in self._parts.values():
            await part.start()

    async def stop(self) -> None:
        for part in reversed(self._parts.values()):
            await part.stop()
        await self.producer.close(CLOSE_SECONDS_MAX)
        self.admin.close()
        await self.client.close()

    def new_producer(self, acks: int) -> Producer:
        codec = CODEC_NAMES.index(self.settings.kafka.get("compression.type", "none"))
        return Producer(self.client, acks=acks, seconds_max=self.settings.delivery_seconds_max, codec=codec)

    def kafka_config(self) -> dict[str, Any]:
        """The settings of every confluent-kafka client of this process."""
        return {
            "bootstrap.servers": self.settings.bootstrap,
            "client.id": CLIENT_ID,
            "log_level": 0,
            "socket.connection.setup.timeout.ms": 3000,
            **self.settings.kafka,
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
            **self.settings.kafka,
        }


async def gateway(connection: HTTPConnection) -> Gateway:
    """The dependency of handlers: `Annotated[Gateway, Depends(gateway)]`. A plain function FastAPI would run in a thread."""
    return cast(Gateway, connection.app.state.gateway)
