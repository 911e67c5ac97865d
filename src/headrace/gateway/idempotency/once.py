"""`Once`: the part of the gateway that stores what comes with an Idempotency-Key."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from headrace.admin.topics import create_topic
from headrace.base.errors import Refused
from headrace.client.produce.outgoing import Outgoing
from headrace.gateway.gateway import Gateway
from headrace.gateway.idempotency.entry import fingerprint, slot_key, slot_of
from headrace.gateway.idempotency.memory import Memory
from headrace.gateway.idempotency.slot import Answer, Slot, SlotOwner
from headrace.gateway.idempotency.slot_names import EVERYBODYS, names_of, not_allowed
from headrace.gateway.problem import Problem
from headrace.gateway.rights import Right, is_allowed, topic_operations
from headrace.wire.codes import ErrorCode

HEADER = "idempotency-key"
KEY_CHARACTERS_MAX = 255
# A producer with connections of its own for each that is in use; enough to work on several at a time.
SLOTS = 8
# Of one of many.
SLOTS_OF_CALLER = 2
CONFIGS = {
    "cleanup.policy": "delete",
    "retention.ms": str(60 * 60 * 1000),
    "segment.ms": str(10 * 60 * 1000),
    "message.timestamp.type": "LogAppendTime",
}


class Once:
    """A part of the gateway of a caller, or of the process's own where nobody logs in."""

    def __init__(self, gateway: Gateway, memory: Memory) -> None:
        self._gateway = gateway
        self._memory = memory
        self._slots: list[Slot] = []
        self._opening = asyncio.Lock()
        self._threads = ThreadPoolExecutor(SLOTS, "idempotency")

    async def start(self) -> None:
        """Nothing yet: the topic is made for the first who needs it."""

    async def stop(self) -> None:
        self._memory.leave(self._slots)
        for slot in self._slots:
            slot.stop()
        self._threads.shutdown(wait=False)

    async def store(self, key: str, body: bytes, topic: str, messages: Sequence[Outgoing]) -> Answer:
        """The messages of this body, unless they are stored already under this key."""
        _check(key)
        if self._gateway.is_caller:
            await self._require_write(topic)
        if not self._slots:
            await self._open()
        stored_as = slot_key(topic, key)
        slot = self._slots[slot_of(stored_as, len(self._slots))]
        return await slot.ask(stored_as, fingerprint(body), topic, messages)

    async def _require_write(self, topic: str) -> None:
        """Refused as by a broker: in a transaction it would be told too late to answer by it."""
        if not is_allowed(await topic_operations(self._gateway.admin, topic), Right.WRITE):
            raise Refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, f"topic {topic} may not be written")

    async def _open(self) -> None:
        async with self._opening:
            if self._slots:
                return
            owner = await self._owner()
            count = await self._count(owner)
            self._slots = [self._slot(id, owner) for id in range(count)]
            self._memory.join(self._slots)

    async def _owner(self) -> SlotOwner:
        if not self._gateway.is_caller:
            return SlotOwner("", EVERYBODYS)
        user = await self._gateway.rights.principal()
        return SlotOwner(user, names_of(user))

    async def _count(self, owner: SlotOwner) -> int:
        """The number of slots is that of the topic's partitions, whoever made it: all gateways must agree."""
        topic, partitions = owner.names.topic, SLOTS_OF_CALLER if owner.user else SLOTS
        try:
            await create_topic(self._gateway.admin, topic, partitions, configs=CONFIGS)
        except Refused as refused:
            if refused.code not in (ErrorCode.TOPIC_ALREADY_EXISTS, ErrorCode.TOPIC_AUTHORIZATION_FAILED):
                raise
        found = (await self._gateway.client.metadata([topic])).topics[topic]
        if owner.user and (found.error_code or not await self._may_use(topic)):
            raise not_allowed(owner.user, owner.names)
        return len(found.partitions)

    async def _may_use(self, topic: str) -> bool:
        operations = await topic_operations(self._gateway.admin, topic)
        return is_allowed(operations, Right.READ) and is_allowed(operations, Right.WRITE)

    def _slot(self, id: int, owner: SlotOwner) -> Slot:
        seconds = self._gateway.settings.delivery_seconds_max
        config = {**self._gateway.producer_config(), "transaction.timeout.ms": int(seconds * 2000), "linger.ms": 0}
        return Slot(id, owner, self._gateway.client, config, self._threads, seconds, self._has_room)

    def _has_room(self) -> bool:
        return self._memory.has_room(self._slots, has_share=self._gateway.is_caller)


def _check(key: str) -> None:
    if not 0 < len(key) <= KEY_CHARACTERS_MAX or not (key.isascii() and key.isprintable()):
        raise Problem(
            422,
            "Invalid idempotency key",
            "the Idempotency-Key is empty, too long, or not plain text",
            f"use 1 to {KEY_CHARACTERS_MAX} printable ASCII characters, such as a UUID",
        )
