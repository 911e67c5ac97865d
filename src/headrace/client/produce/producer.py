"""Sends what many callers bring: one request at a time to the leader of a topic's partitions, with all that waits for it.

What comes meanwhile waits for the next one: the slower the brokers, the larger the batches, and no timer anywhere. No
message is stored twice by our own retries, and those of a partition keep their order.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Coroutine, Sequence
from typing import Any

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.connection import Disconnected
from headrace.client.peer import Address
from headrace.client.produce.outgoing import Outgoing
from headrace.client.produce.partitioner import key_bytes, partitions_of
from headrace.client.produce.queue import PartitionQueue
from headrace.client.produce.receipt import Chunk, Receipt
from headrace.client.produce.texts import Texts
from headrace.client.produce.undelivered import failed, timed_out, unknown_partition, unreachable
from headrace.client.retry import pause_seconds
from headrace.client.writer_client import WriterClient
from headrace.wire.batch import Identity
from headrace.wire.codes import CODES, ErrorCode
from headrace.wire.messages.produce import PartitionProduceResponse

logger = logging.getLogger("headrace.client")

ALL, LEADER = -1, 1
HASHED_AT_ONCE_BYTES = 64 << 10
_NOT_OURS = frozenset(
    {
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.PRODUCER_FENCED,
    }
)
Route = tuple[str, Address]


class BatchingProducer:
    """Used from one event loop only. With acks=leader a message may be stored twice when a leader dies."""

    def __init__(self, client: WriterClient, *, acks: int, seconds_max: float, codec: int = 0) -> None:
        self._client = client
        self._acks = acks
        self._seconds_max = seconds_max
        self._codec = codec
        self._loop = asyncio.get_running_loop()
        self._identity: Identity | None = None
        self._queues: dict[TopicPartition, PartitionQueue] = {}
        # Those with something to send, and nothing on its way.
        self._ready: dict[PartitionQueue, None] = {}
        self._turns: dict[str, int] = {}
        self._busy: set[Route] = set()
        self._looking: set[str] = set()
        # By topic: how often in a row a partition with messages was left without a leader.
        self._looks_in_vain: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_woken = False

    async def send_all(self, topic: str, messages: Sequence[Outgoing]) -> Receipt:
        """The receipt of these messages, settled. Raises Refused or Disconnected when nothing is known of the topic.

        Messages without a key go together to one partition; which one changes with every request.
        """
        count = len((await self._client.topic(topic)).partitions)
        turn = self._turns.setdefault(topic, 0) % count
        if key_bytes(messages) > HASHED_AT_ONCE_BYTES:
            # In a thread: nobody else is to wait for it.
            partitions = await asyncio.to_thread(partitions_of, messages, count, turn)
        else:
            partitions = partitions_of(messages, count, turn)
        receipt = Receipt(len(messages))
        self._route(topic, count, messages, partitions, receipt)
        self._wake()
        await receipt.settled
        return receipt

    def _route(
        self, topic: str, count: int, messages: Sequence[Outgoing], partitions: list[int], receipt: Receipt
    ) -> None:
        deadline = self._loop.time() + self._seconds_max
        indexes: dict[int, list[int]] = {}
        for index, partition in enumerate(partitions):
            if partition in indexes:
                indexes[partition].append(index)
            else:
                indexes[partition] = [index]
        for partition, chosen in indexes.items():
            chunk = Chunk(receipt, deadline, _picked(messages, chosen), chosen)
            if partition < count:
                self._enqueue(TopicPartition(topic, partition), chunk)
            else:
                chunk.failed(unknown_partition())

    def _enqueue(self, id: TopicPartition, chunk: Chunk) -> None:
        queue = self._queues.get(id)
        if queue is None:
            queue = self._queues[id] = PartitionQueue(id, self._codec)
        if not queue:
            self._ready[queue] = None
        queue.add(chunk)

    # -- when ---------------------------------------------------------------------------------------------------------

    def _wake(self) -> None:
        """Sends later in this turn of the loop, so that messages of other callers go along."""
        if not self._is_woken:
            self._is_woken = True
            self._loop.call_soon(self._flush)

    def _on_rested(self, queue: PartitionQueue) -> None:
        """Ends a queue's rest. It goes by the timer, not by the clock: one that rings a fraction too soon would be the
        last.
        """
        queue.not_before = 0.0
        self._wake()

    def _flush(self) -> None:
        self._is_woken = False
        now = self._loop.time()
        together: dict[Route, list[PartitionQueue]] = {}
        for queue in list(self._ready):
            queue.expire(now)
            if not queue:
                del self._ready[queue]
            elif queue.not_before <= now:
                leader = self._client.known_leader(queue.id)
                if leader is None:
                    self._look(queue.id.topic)
                elif (queue.id.topic, leader.address) not in self._busy:
                    together.setdefault((queue.id.topic, leader.address), []).append(queue)
        for route, queues in together.items():
            self._busy.add(route)
            self._turns[route[0]] += 1
            for queue in queues:
                del self._ready[queue]
            self._start(self._send(route, queues))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # -- doing it -----------------------------------------------------------------------------------------------------

    async def _send(self, route: Route, queues: list[PartitionQueue]) -> None:
        try:
            await self._exchange(route, queues)
        except Exception:
            # A fault of ours must not leave callers waiting.
            logger.exception("messages for topic %(topic)s could not be sent", {"topic": route[0]})
            for queue in queues:
                queue.fail(failed())
        self._busy.discard(route)
        for queue in queues:
            if queue:
                self._ready[queue] = None
                if queue.not_before:
                    self._loop.call_at(queue.not_before, self._on_rested, queue)
        if self._ready:
            self._wake()

    async def _exchange(self, route: Route, queues: list[PartitionQueue]) -> None:
        topic, leader = route
        try:
            identity = await self._who(queues)
            now_ms = time.time_ns() // 1_000_000
            batches = {queue.id.partition: memoryview(queue.batch(identity, now_ms).data) for queue in queues}
            answers = await self._client.produce_once(leader, topic, batches, self._acks, self._seconds_max)
        except (Disconnected, Refused) as error:
            refused = error if isinstance(error, Refused) else unreachable(str(error))
            for queue in queues:
                self._again(queue, refused)
            return
        for queue in queues:
            self._on_answer(queue, answers[queue.id.partition])

    async def _who(self, queues: list[PartitionQueue]) -> Identity | None:
        if self._acks != ALL:
            return None
        if any(queue.needs_other(self._identity) for queue in queues):
            # Once: the queues have pauses and deadlines of their own.
            self._identity = await self._client.producer_id(0.0)
        return self._identity

    def _on_answer(self, queue: PartitionQueue, answer: PartitionProduceResponse) -> None:
        code = answer.error_code
        if not code or code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            queue.on_stored(answer.base_offset, answer.log_append_time_ms)
            return
        known = CODES.get(code)
        error = Refused(code, answer.error_message or (known.message if known else f"error {code}"))
        if known is not None and known.retriable:
            self._again(queue, error)
        elif code in _NOT_OURS:
            queue.on_unknown_identity(error)
        else:
            queue.on_refused(error)

    def _again(self, queue: PartitionQueue, error: Refused) -> None:
        self._client.forget_leaders([queue.id])
        queue.on_unsettled(error, self._loop.time())

    # -- leaders ------------------------------------------------------------------------------------------------------

    def _look(self, topic: str) -> None:
        if topic not in self._looking:
            self._looking.add(topic)
            self._start(self._find_leaders(topic))

    async def _find_leaders(self, topic: str) -> None:
        self._looks_in_vain[topic] += 1
        try:
            found = await self._client.find_topic(topic, self._seconds_max)
            self._fail_beyond(topic, len(found.partitions), unknown_partition())
        except Disconnected:
            pass
        except Refused as error:
            self._fail_beyond(topic, 0, error)
        finally:
            self._looking.discard(topic)
            if all(self._client.known_leader(queue.id) for queue in self._ready if queue.id.topic == topic):
                del self._looks_in_vain[topic]
            # A partition without a leader is still without one, and a broker that is away too: not at once.
            self._loop.call_later(pause_seconds(self._looks_in_vain[topic]), self._wake)

    def _fail_beyond(self, topic: str, count: int, error: Refused) -> None:
        for queue in [each for each in self._ready if each.id.topic == topic and each.id.partition >= count]:
            del self._ready[queue]
            queue.fail(error)

    async def close(self, seconds_max: float) -> None:
        """Waits for what is in flight, up to a limit; what is not acknowledged by then is given up."""
        deadline = self._loop.time() + seconds_max
        # Between two tries there is no task to wait for.
        while (self._ready or self._tasks) and self._loop.time() < deadline:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for task in list(self._tasks):
            task.cancel()
        for queue in self._queues.values():
            queue.fail(timed_out())


def _picked(messages: Sequence[Outgoing], indexes: list[int]) -> Sequence[Outgoing]:
    if len(indexes) == len(messages):
        return messages
    return messages.picked(indexes) if isinstance(messages, Texts) else [messages[index] for index in indexes]
