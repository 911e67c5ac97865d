"""One slot in this gateway: requests queue up, and each transaction takes all that wait.

    not ours --take over, read to the end--> ours --transaction--> ours
        ^                                      |
        +-------- fenced, or unsure how it ended

Every answer is an entry that is committed: one that was read, or one that we wrote. Two gateways that want the same slot
take it from each other; who loses it waits longer than a round takes before it tries again, so that each gets a turn.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import NamedTuple, TypeVar

from confluent_kafka import KafkaError

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient
from headrace.client.connection import Disconnected
from headrace.client.produce.outgoing import Outgoing
from headrace.client.retry import pause_seconds
from headrace.gateway.idempotency.entry import KEPT_MS, OF_ANOTHER_VERSION, Entries, Entry
from headrace.gateway.idempotency.slot_names import SlotNames, not_allowed
from headrace.gateway.idempotency.slot_producer import Rejected, SlotForbidden, SlotLost, SlotProducer, Wanted
from headrace.gateway.problem import Problem, kafka_problem
from headrace.gateway.visible import VisibleRecords

TOGETHER_MAX = 100
PAUSE_SECONDS_MIN = 0.05
PAUSE_SECONDS_MAX = 3.0
READ_SECONDS_MAX = 10.0

T = TypeVar("T")


class Answer(NamedTuple):
    entry: Entry
    is_replay: bool


class SlotOwner(NamedTuple):
    user: str
    """Empty for everybody."""
    names: SlotNames


class _Waiting(NamedTuple):
    wanted: Wanted
    answer: "asyncio.Future[Answer]"
    deadline: float


class Slot:
    def __init__(
        self,
        id: int,
        owner: SlotOwner,
        client: ClusterClient,
        config: dict[str, object],
        threads: Executor,
        seconds_max: float,
        has_room: Callable[[], bool],
    ) -> None:
        self._owner = owner
        self._partition = TopicPartition(owner.names.topic, id)
        self._client = client
        self._config = config
        self._threads = threads
        self._seconds_max = seconds_max
        self._has_room = has_room
        self.entries = Entries()
        self._next_offset: int | None = None
        self._producer: SlotProducer | None = None
        self._losses = 0
        self._round_seconds = 0.0
        self._queue: list[_Waiting] = []
        self._task: asyncio.Task[None] | None = None

    async def ask(self, key: bytes, fingerprint: str, topic: str, messages: Sequence[Outgoing]) -> Answer:
        loop = asyncio.get_running_loop()
        wanted = Wanted(key, fingerprint, topic, messages)
        waiting = _Waiting(wanted, loop.create_future(), loop.time() + self._seconds_max)
        self._queue.append(waiting)
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        return await waiting.answer

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._close_producer()

    async def _run(self) -> None:
        """Runs rounds while requests wait."""
        try:
            while self._queue:
                await self._round()
        except Exception as error:
            self._let_go()
            self._fail_all(error)
        finally:
            self._task = None

    async def _round(self) -> None:
        began = time.monotonic()
        try:
            await self._own()
            self._answer_known()
            if not self._has_room():
                self._fail_all(_too_many())
            await self._store_next()
            self._losses = 0
        except (SlotLost, Refused, Disconnected, TimeoutError) as error:
            self._let_go()
            self._give_up_late(error)
        self._round_seconds = time.monotonic() - began
        if self._losses:
            await asyncio.sleep(self._pause())

    # -- whose it is -------------------------------------------------------------------------------------------------

    async def _own(self) -> None:
        if self._producer is not None:
            return
        producer = await self._in_thread(self._taken_over)
        try:
            async with asyncio.timeout(READ_SECONDS_MAX):
                await self._read_on()
        except BaseException:
            self._threads.submit(producer.close)
            raise
        self._producer = producer

    def _taken_over(self) -> SlotProducer:
        producer = SlotProducer(self._config, self._owner.names, self._partition.partition, READ_SECONDS_MAX)
        try:
            producer.take_over()
        except SlotForbidden:
            producer.close()
            raise not_allowed(self._owner.user, self._owner.names) from None
        except SlotLost:
            producer.close()
            raise
        return producer

    async def _read_on(self) -> None:
        """Reads to the end that the log had at the take-over: from where we last were, or as far back as keys are kept."""
        end = (await self._client.offsets({self._partition: LATEST}, read_committed=False))[self._partition].offset
        if self._next_offset is None:
            since = int(time.time() * 1000) - KEPT_MS
            found = (await self._client.offsets({self._partition: since}))[self._partition].offset
            self._next_offset = found if found >= 0 else end
        while self._next_offset < end:
            self._next_offset = await self._read_once(self._next_offset)

    async def _read_once(self, offset: int) -> int:
        try:
            fetched = await self._client.fetch(self._partition, offset, wait_ms=200)
        except Refused:
            # Retention has passed us by while others had the slot.
            return (await self._client.offsets({self._partition: EARLIEST}))[self._partition].offset
        visible = VisibleRecords(fetched, offset)
        for record in visible:
            self.entries.add_record(record)
        return visible.next_offset

    def _let_go(self) -> None:
        self._losses += 1
        self._close_producer()

    def _close_producer(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            self._threads.submit(producer.close)

    def _pause(self) -> float:
        first = 2 * max(PAUSE_SECONDS_MIN, self._round_seconds)
        return pause_seconds(self._losses, first=first, longest=PAUSE_SECONDS_MAX)

    # -- answers -----------------------------------------------------------------------------------------------------

    def _answer_known(self) -> None:
        now_ms = int(time.time() * 1000)
        self.entries.forget_old(now_ms)
        for waiting in self._queue[:]:
            entry = self.entries.get(waiting.wanted.key, now_ms)
            if entry is not None:
                self._answer(waiting, Answer(entry, is_replay=True))

    async def _store_next(self) -> None:
        """One transaction for the first of each key that waits; a second one with the same key is then known."""
        first = {waiting.wanted.key: waiting for waiting in reversed(self._queue)}
        together = list(first.values())[-TOGETHER_MAX:]
        producer = self._producer
        if not together or producer is None:
            return
        try:
            entries = await self._in_thread(lambda: producer.store([waiting.wanted for waiting in together]))
        except Rejected as rejected:
            for index, error in rejected.errors.items():
                self._answer(together[index], _refused(together[index].wanted.topic, error))
            return
        for waiting, entry in zip(together, entries, strict=True):
            self.entries.add(waiting.wanted.key, entry, int(time.time() * 1000))
            self._answer(waiting, Answer(entry, is_replay=False))

    def _answer(self, waiting: _Waiting, outcome: Answer | Exception) -> None:
        self._queue.remove(waiting)
        if waiting.answer.done():
            return
        if isinstance(outcome, Exception):
            waiting.answer.set_exception(outcome)
        elif outcome.entry is OF_ANOTHER_VERSION:
            waiting.answer.set_exception(_of_another_version())
        elif outcome.entry.fingerprint != waiting.wanted.fingerprint:
            waiting.answer.set_exception(_reused())
        else:
            waiting.answer.set_result(outcome)

    def _give_up_late(self, error: Exception) -> None:
        now = asyncio.get_running_loop().time()
        for waiting in [each for each in self._queue if each.deadline < now]:
            self._answer(waiting, _unsettled(error))

    def _fail_all(self, error: Exception) -> None:
        for waiting in self._queue[:]:
            self._answer(waiting, error)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def _refused(topic: str, error: KafkaError) -> Problem:
    return kafka_problem(error.code(), f"topic {topic}: {error.str()}")


def _reused() -> Problem:
    return Problem(
        422,
        "Idempotency key reused",
        "this Idempotency-Key was used for another request in the last ten minutes",
        "use a new key for each new request, and the same one only to repeat it",
    )


def _of_another_version() -> Problem:
    return Problem(
        503,
        "Answered by a newer gateway",
        "a gateway of another version stored the messages of this Idempotency-Key, and what it noted cannot be read here",
        "repeat the request at a gateway of that version; with a new key the messages would be stored again",
    )


def _too_many() -> Problem:
    return Problem(
        429,
        "Too many requests",
        "the gateway remembers as many requests with an Idempotency-Key as it may (idempotency_bytes_max)",
        "send larger batches with one key each, or raise it; each is forgotten after eleven minutes",
        headers={"Retry-After": "10"},
    )


def _unsettled(error: Exception) -> Problem:
    return Problem(
        503,
        "Not acknowledged",
        f"whether the messages are stored is not known yet: {error}",
        "repeat the request with the same Idempotency-Key: it is stored once",
        headers={"Retry-After": "1"},
    )
