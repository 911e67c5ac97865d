"""What one gateway process shares: the settings, one connection of each kind to the cluster, and the parts that run.

A part is whatever lives as long as the process (webhooks, alerts, …): it is added before the start, started in the order
of the list and stopped in reverse. A gateway starts without brokers too; requests then say that none answers.
"""

from collections.abc import Awaitable
from typing import Protocol, TypeVar, cast

from starlette.requests import HTTPConnection

from headrace.client.admin import Admin
from headrace.gateway.producer import AsyncProducer
from headrace.gateway.settings import GatewaySettings

CLIENT_ID = "headrace-gateway"
CLOSE_SECONDS_MAX = 5.0


class Part(Protocol):
    def start(self) -> Awaitable[None]: ...

    def stop(self) -> Awaitable[None]: ...


P = TypeVar("P", bound=Part)


class Gateway:
    admin: Admin
    producer: AsyncProducer
    """acks=all, and no message twice or out of order by its own retries."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        self._parts.append(part)

    def part(self, kind: type[P]) -> P:
        return next(each for each in self._parts if isinstance(each, kind))

    async def start(self) -> None:
        self.admin = Admin(self.settings.brokers, CLIENT_ID)
        self.producer = AsyncProducer({**self.kafka_config(), "enable.idempotence": True, "linger.ms": 2})
        for part in self._parts:
            await part.start()

    async def stop(self) -> None:
        for part in reversed(self._parts):
            await part.stop()
        await self.producer.close(CLOSE_SECONDS_MAX)
        self.admin.close()

    def kafka_config(self) -> dict[str, object]:
        """For confluent-kafka's clients."""
        return {
            "bootstrap.servers": self.settings.bootstrap,
            "client.id": CLIENT_ID,
            "log_level": 0,
            "delivery.timeout.ms": int(self.settings.delivery_seconds_max * 1000),
            "topic.metadata.propagation.max.ms": 5000,
            "socket.connection.setup.timeout.ms": 3000,
            "queue.buffering.max.kbytes": self.settings.in_flight_bytes_max >> 10,
        }


def gateway(connection: HTTPConnection) -> Gateway:
    """The dependency of handlers: `Annotated[Gateway, Depends(gateway)]`."""
    return cast(Gateway, connection.app.state.gateway)
