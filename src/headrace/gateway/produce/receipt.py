"""What came of the messages of one call. Its chunks go to partitions of their own, in pieces and at their own pace."""

import asyncio

from confluent_kafka import KafkaError

from headrace.gateway.produce.outgoing import Delivered, Outgoing

Result = Delivered | KafkaError


class Receipt:
    """`settled` is done when every message has its result; they are in the order of the messages."""

    def __init__(self, count: int) -> None:
        self.results: list[Result] = [_OPEN] * count
        self.settled: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = count

    def close(self, count: int) -> None:
        self._left -= count
        if not self._left and not self.settled.done():
            self.settled.set_result(None)


class Chunk:
    """Messages of one call for one partition. `is_alone`: shares no batch, since one of them was refused for what it is."""

    __slots__ = ("deadline", "indexes", "is_alone", "messages", "receipt")

    def __init__(
        self,
        receipt: Receipt,
        deadline: float,
        messages: list[Outgoing],
        indexes: list[int],
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
        results, new = self.receipt.results, tuple.__new__
        for offset, (index, message) in enumerate(zip(self.indexes, self.messages, strict=True), first_offset):
            timestamp = append_ms if append_ms >= 0 else message[4] or now_ms
            results[index] = new(Delivered, (partition, offset, timestamp))
        self.receipt.close(len(self.indexes))

    def failed(self, error: KafkaError) -> None:
        for index in self.indexes:
            self.receipt.results[index] = error
        self.receipt.close(len(self.indexes))


_OPEN = Delivered(-1, -1, -1)
