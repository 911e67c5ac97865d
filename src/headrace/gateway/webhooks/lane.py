"""One partition's way to the receiver: one delivery at a time, in order, each until it is accepted or a dead letter.

A lane forgets everything when its partition goes to another gateway; what was not committed is delivered again there.
Offsets are those of the partition it reads: the topic's, or while redriving, those of the dead letters.
"""

import asyncio
import logging
import random
from collections import deque
from collections.abc import Callable
from typing import NamedTuple, Protocol

from headrace.gateway.webhooks.letter import Letter
from headrace.gateway.webhooks.retry import Answer, Done, GiveUp, RetryPolicy, TryAgain, decide, describe

logger = logging.getLogger("headrace.gateway.webhooks")

BATCH_BYTES_MAX = 1 << 20
QUEUED_BYTES_MAX = 2 << 20
REASON_CHARACTERS_MAX = 200


class Item(NamedTuple):
    """`letter` is None for a record that is passed over."""

    offset: int
    letter: Letter | None


class Outlet(Protocol):
    """Where a lane's letters go, one batch after the other."""

    async def deliver(self, letters: list[Letter], tries: int) -> Answer: ...

    async def bury(self, letters: list[Letter], reason: str, tries: int) -> None:
        """Returns when they are safe among the dead letters, however long that takes."""

    def commit(self, partition: int, next_offset: int) -> None: ...


class Lane:
    def __init__(self, partition: int, outlet: Outlet, policy: RetryPolicy, messages_max: int) -> None:
        self.partition = partition
        self.next_offset: int | None = None
        """The offset below which everything is delivered; None before the first delivery."""
        self.tries = 0
        self.trouble = ""
        self._outlet = outlet
        self._policy = policy
        self._messages_max = messages_max
        self._queue: deque[Item] = deque()
        self._queued_bytes = 0
        self._arrived = asyncio.Event()
        self.on_room: Callable[[int], None] = lambda partition: None

    # -- what comes in -----------------------------------------------------------------------------------------------

    def offer(self, item: Item) -> None:
        self._queue.append(item)
        self._queued_bytes += item.letter.size if item.letter else 0
        self._arrived.set()

    @property
    def is_full(self) -> bool:
        return self._queued_bytes > QUEUED_BYTES_MAX or len(self._queue) > 4 * self._messages_max

    # -- what goes out -----------------------------------------------------------------------------------------------

    async def run(self) -> None:
        while True:
            await self._arrived.wait()
            letters, next_offset = self._take()
            if letters:
                await self._deliver(letters)
            self.next_offset = next_offset
            self._outlet.commit(self.partition, next_offset)

    def _take(self) -> tuple[list[Letter], int]:
        letters: list[Letter] = []
        size, next_offset, was_full = 0, 0, self.is_full
        while self._queue and len(letters) < self._messages_max and size < BATCH_BYTES_MAX:
            offset, letter = self._queue.popleft()
            next_offset = offset + 1
            if letter is not None:
                letters.append(letter)
                size += letter.size
        self._queued_bytes -= size
        if not self._queue:
            self._arrived.clear()
        if was_full and not self.is_full:
            self.on_room(self.partition)
        return letters, next_offset

    async def _deliver(self, letters: list[Letter]) -> None:
        self.tries = 0
        while True:
            self.tries += 1
            answer = await self._try(letters)
            match decide(self._policy, self.tries, answer, random.random()):
                case Done():
                    break
                case TryAgain(wait_ms, reason):
                    self.trouble = reason
                    await asyncio.sleep(wait_ms / 1000)
                case GiveUp(reason):
                    self.trouble = reason
                    await self._outlet.bury(letters, reason, self.tries)
                    break
        self.tries = 0
        self.trouble = "" if answer.is_accepted else describe(answer)

    async def _try(self, letters: list[Letter]) -> Answer:
        """A fault of ours is an answer too: nobody would see that the lane had ended with it."""
        try:
            return await self._outlet.deliver(letters, self.tries)
        except Exception as error:
            fields = {"tries": self.tries, "letter": letters[0].id}
            logger.exception("webhooks: a fault of ours at try %(tries)d of %(letter)s", fields)
            return Answer(0, f"a fault of the gateway: {type(error).__name__}: {error}"[:REASON_CHARACTERS_MAX])
