"""Where messages of callers become messages of the log: one door for REST, streams and the browser.

`store` returns when every message is acknowledged as asked, or has failed for good: a result for each, in their order.
"""

from collections.abc import Sequence
from typing import Any, Literal, get_args

from confluent_kafka import KafkaError

from headrace.gateway.gateway import CLOSE_SECONDS_MAX, Gateway
from headrace.gateway.intake import too_busy
from headrace.gateway.known_topics import KnownTopics
from headrace.gateway.messages.quorum import QuorumRule
from headrace.gateway.problem import Problem, kafka_problem
from headrace.gateway.producer import AsyncProducer, Delivered, Outgoing

Acks = Literal["leader", "quorum", "all"]
ACKS: tuple[str, ...] = get_args(Acks)
Result = Delivered | KafkaError
MANY_LINGER_MS = 5


class MessageStore:
    """A part of the gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._producers: dict[str, AsyncProducer] = {}

    async def start(self) -> None:
        self.topics = KnownTopics(self._gateway.admin)
        self._quorum = QuorumRule(self._gateway.admin)

    async def stop(self) -> None:
        for producer in self._producers.values():
            await producer.close(CLOSE_SECONDS_MAX)

    async def store(self, topic: str, messages: Sequence[Outgoing], acks: str = "all") -> list[Result]:
        await self.require(topic, acks)
        try:
            results = await self._producer(acks, len(messages)).send_all(topic, messages)
        except BufferError:
            raise too_busy("the brokers acknowledge more slowly than messages come") from None
        for result in results:
            if isinstance(result, KafkaError) and result.code() in (KafkaError._UNKNOWN_TOPIC, 3):
                self.topics.forget(topic)
        return results

    async def require(self, topic: str, acks: str) -> None:
        """Whether messages may be sent there, with such acknowledgements; the Problem if not."""
        if acks not in ACKS:
            raise Problem(422, "Invalid acks", f"there is no acks={acks!s:.40}", f"use one of {', '.join(ACKS)}")
        await self.topics.require(topic)
        if acks == "quorum":
            await self._quorum.require(topic)

    def _producer(self, acks: str, count: int) -> AsyncProducer:
        if acks == "leader":
            return self._made("leader", {"acks": 1})
        if count > 1:
            # One that did not wait would send the first of them alone, and each part costs the brokers a sync.
            return self._made("many", {"enable.idempotence": True, "linger.ms": MANY_LINGER_MS})
        return self._gateway.producer

    def _made(self, name: str, config: dict[str, Any]) -> AsyncProducer:
        if name not in self._producers:
            self._producers[name] = AsyncProducer({**self._gateway.producer_config(), **config})
        return self._producers[name]


def failure(topic: str, error: KafkaError) -> Problem:
    return kafka_problem(error.code(), f"topic {topic}: {error.str()}")
