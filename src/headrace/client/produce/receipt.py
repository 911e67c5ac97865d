"""The outcome of the messages of one call. Its chunks go to partitions of their own, in pieces and at their own pace."""

import asyncio
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.client.produce.outgoing import Delivered, Outgoing
from headrace.client.produce.texts import Texts

Result = Delivered | Refused


class Run(NamedTuple):
    """Messages of one time that lie side by side in a partition. `indexes` are their places in the call."""

    indexes: Sequence[int]
    partition: int
    first_offset: int
    timestamp: int


class Receipt:
    """`settled` is done when every message is in one of the runs or among the failures."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.runs: list[Run] = []
        self.failures: list[tuple[Sequence[int], Refused]] = []
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = count

    def close(self, count: int) -> None:
        self._left -= count
        if not self._left and not self.settled.done():
            self.settled.set_result(None)

    def results(self) -> list[Result]:
        """The results in the order of the messages."""
        results: list[Result] = [_OPEN] * self.count
        for indexes, partition, first_offset, timestamp in self.runs:
            for offset, index in enumerate(indexes, first_offset):
                results[index] = Delivered(partition, offset, timestamp)
        for indexes, error in self.failures:
            for index in indexes:
                results[index] = error
        return results


class Chunk:
    """Messages of one call for one partition. `is_alone`: shares no batch, since one of them was refused for what it is."""

    __slots__ = ("deadline", "indexes", "is_alone", "messages", "receipt")

    def __init__(
        self,
        receipt: Receipt,
        deadline: float,
        messages: Sequence[Outgoing],
        indexes: Sequence[int],
        is_alone: bool = False,
    ) -> None:
        self.receipt = receipt
        self.deadline = deadline
        self.messages = messages
        self.indexes = indexes
        self.is_alone = is_alone

    def cut(self, at: int) -> "tuple[Chunk, Chunk]":
        return (
            Chunk(self.receipt, self.deadline, self.messages[:at], self.indexes[:at], self.is_alone),
            Chunk(self.receipt, self.deadline, self.messages[at:], self.indexes[at:], self.is_alone),
        )

    def stored(self, partition: int, first_offset: int, now_ms: int, append_ms: int) -> None:
        at = 0
        for timestamp, count in self._times(now_ms, append_ms):
            self.receipt.runs.append(Run(self.indexes[at : at + count], partition, first_offset + at, timestamp))
            at += count
        self.receipt.close(at)

    def _times(self, now_ms: int, append_ms: int) -> Iterable[tuple[int, int]]:
        """Timestamps of the messages, each with how many in a row have it."""
        if append_ms >= 0 or isinstance(self.messages, Texts):
            return [(append_ms if append_ms >= 0 else now_ms, len(self.messages))]
        times = groupby(message.timestamp or now_ms for message in self.messages)
        return [(timestamp, len(list(same))) for timestamp, same in times]

    def failed(self, error: Refused) -> None:
        self.receipt.failures.append((self.indexes, error))
        self.receipt.close(len(self.indexes))


_OPEN = Delivered(-1, -1, -1)
