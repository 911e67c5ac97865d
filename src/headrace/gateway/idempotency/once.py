"""`Once`: the part of the gateway that stores what comes with an Idempotency-Key."""

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from headrace.admin.topics import create_topic
from headrace.base.errors import Refused
from headrace.client.produce.outgoing import Outgoing
from headrace.gateway.gateway import Gateway
from headrace.gateway.idempotency.entry import fingerprint, slot_key, slot_of
from headrace.gateway.idempotency.slot import Answer, Slot
from headrace.gateway.idempotency.slot_producer import TOPIC
from headrace.gateway.problem import Problem
from headrace.wire.codes import ErrorCode

HEADER = "idempotency-key"
KEY_CHARACTERS_MAX = 255
# A producer with connections of its own for each that is in use; enough to work on several at a time.
SLOTS = 8
CONFIGS = {
    "cleanup.policy": "delete",
    "retention.ms": str(60 * 60 * 1000),
    "segment.ms": str(10 * 60 * 1000),
    "message.timestamp.type": "LogAppendTime",
}


class Once:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._slots: list[Slot] = []
        self._opening = asyncio.Lock()
        self._threads = ThreadPoolExecutor(SLOTS, "idempotency")

    async def start(self) -> None:
        """Nothing yet: the topic is made for the first who needs it."""

    async def stop(self) -> None:
        for slot in self._slots:
            slot.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def store(self, key: str, body: bytes, topic: str, messages: Sequence[Outgoing]) -> Answer:
        """The messages of this body, unless they are stored already under this key."""
        _check(key)
        if not self._slots:
            await self._open()
        stored_as = slot_key(topic, key)
        slot = self._slots[slot_of(stored_as, len(self._slots))]
        return await slot.ask(stored_as, fingerprint(body), topic, messages)

    async def _open(self) -> None:
        async with self._opening:
            if self._slots:
                return
            try:
                await create_topic(self._gateway.admin, TOPIC, SLOTS, configs=CONFIGS)
            except Refused as refused:
                if refused.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise
            # As many as the topic has, whoever made it: all gateways must agree.
            count = len((await self._gateway.client.metadata([TOPIC])).topics[TOPIC].partitions)
            self._slots = [self._slot(id) for id in range(count)]

    def _slot(self, id: int) -> Slot:
        seconds = self._gateway.settings.delivery_seconds_max
        config = {**self._gateway.producer_config(), "transaction.timeout.ms": int(seconds * 2000), "linger.ms": 0}
        return Slot(id, self._gateway.client, config, self._threads, seconds, self._has_room)

    def _has_room(self) -> bool:
        """Whether another key fits the limit. Keys that others stored are remembered in any case: a forgotten one is
        stored twice.
        """
        bytes_max = self._gateway.settings.idempotency_bytes_max
        if self._remembered < bytes_max:
            return True
        now_ms = int(time.time() * 1000)
        for slot in self._slots:
            # Those of slots that nobody asks any more too.
            slot.entries.forget_old(now_ms)
        return self._remembered < bytes_max

    @property
    def _remembered(self) -> int:
        return sum(slot.entries.bytes for slot in self._slots)


def _check(key: str) -> None:
    if not 0 < len(key) <= KEY_CHARACTERS_MAX or not (key.isascii() and key.isprintable()):
        raise Problem(
            422,
            "Invalid idempotency key",
            "the Idempotency-Key is empty, too long, or not plain text",
            f"use 1 to {KEY_CHARACTERS_MAX} printable ASCII characters, such as a UUID",
        )
