"""The way of callers' messages into the log: one door for REST, streams and the browser.

`store` returns when every message is acknowledged as asked, or has failed for good.
"""

from collections.abc import Sequence
from typing import Literal, get_args

from headrace.base.errors import Refused
from headrace.client.produce.outgoing import Outgoing
from headrace.client.produce.producer import LEADER, BatchingProducer
from headrace.client.produce.receipt import Receipt
from headrace.gateway.gateway import GATEWAY_CLOSE_SECONDS_MAX, Gateway
from headrace.gateway.known_topics import KnownTopics
from headrace.gateway.messages.quorum import QuorumRule
from headrace.gateway.problem import Problem, kafka_problem
from headrace.wire.codes import ErrorCode

Acks = Literal["leader", "quorum", "all"]
ACKS: tuple[str, ...] = get_args(Acks)


class MessageStore:
    """A part of the gateway."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def start(self) -> None:
        self.topics = KnownTopics(self._gateway.client)
        self._quorum = QuorumRule(self._gateway.client, self._gateway.admin)
        self._to_leaders = self._gateway.new_producer(LEADER)

    async def stop(self) -> None:
        await self._to_leaders.close(GATEWAY_CLOSE_SECONDS_MAX)

    async def store(self, topic: str, messages: Sequence[Outgoing], acks: str = "all") -> Receipt:
        await self.require(topic, acks)
        receipt = await self._producer(acks).send_all(topic, messages)
        for _, error in receipt.failures:
            if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                self.topics.forget(topic)
        return receipt

    async def require(self, topic: str, acks: str) -> None:
        """Whether messages may be sent there, with such acknowledgements; the Problem if not."""
        if acks not in ACKS:
            raise Problem(422, "Invalid acks", f"there is no acks={acks!s:.40}", f"use one of {', '.join(ACKS)}")
        await self.topics.require(topic)
        if acks == "quorum":
            await self._quorum.require(topic)

    def _producer(self, acks: str) -> BatchingProducer:
        return self._to_leaders if acks == "leader" else self._gateway.producer


def failure(topic: str, error: Refused) -> Problem:
    return kafka_problem(error.code, f"topic {topic}: {error.message}")
