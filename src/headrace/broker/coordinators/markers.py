"""Transaction markers on their way to the leaders of the partitions they end a transaction in.

Each is sent until it is in, however long its leader is away, since the transaction hangs until then: readers of the
partition wait, and so does its producer. All that is due for one broker goes in one request, and while that is on its way
the next one fills. A partition whose topic is gone needs none.

Given up only when the coordinator that wanted them is no longer one: the next coordinator sends them again.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace.base.clock import Now
from headrace.base.errors import StoreUnreachable
from headrace.base.ids import TopicPartition
from headrace.broker.coordinators.marker_appends import MarkerAppends
from headrace.client.connection import Disconnected
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

VERSION = 2
REQUEST_SECONDS_MAX = 3.0
RETRY_SECONDS = 0.05
MARKERS_PER_REQUEST_MAX = 500
# The partition has seen a later epoch of the producer: nothing of this transaction can be open there.
_DONE = (ErrorCode.NONE, ErrorCode.INVALID_PRODUCER_EPOCH)


class MarkerJob:
    """The end of one transaction, and the partitions that have not heard of it yet."""

    __slots__ = (
        "_done",
        "commit",
        "coordinator_epoch",
        "is_wanted",
        "left",
        "producer_epoch",
        "producer_id",
        "version",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int,
        commit: bool,
        coordinator_epoch: int,
        version: int,
        partitions: dict[TopicPartition, None],
        is_wanted: Callable[[], bool],
        done: Callable[[], None],
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.commit = commit
        self.coordinator_epoch = coordinator_epoch
        self.version = version
        self.left = partitions
        self.is_wanted = is_wanted
        self._done = done

    def finish(self, partitions: Iterable[TopicPartition]) -> None:
        had = bool(self.left)
        for partition in partitions:
            self.left.pop(partition, None)
        if had and not self.left:
            self._done()

    def finish_empty(self) -> None:
        self._done()

    def marker(self, partitions: list[TopicPartition]) -> WritableTxnMarker:
        topics: dict[str, list[int]] = {}
        for topic, index in partitions:
            topics.setdefault(topic, []).append(index)
        return WritableTxnMarker(
            self.producer_id,
            self.producer_epoch,
            self.commit,
            [WritableTxnMarkerTopic(topic, indexes) for topic, indexes in topics.items()],
            self.coordinator_epoch,
            self.version,
        )


Due = dict[MarkerJob, list[TopicPartition]]


class Markers:
    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._due: dict[int, Due] = {}
        self._sending: set[int] = set()

    def write(self, job: MarkerJob) -> None:
        if job.left:
            self._route(job, list(job.left))
        else:
            job.finish_empty()

    def _route(self, job: MarkerJob, partitions: list[TopicPartition]) -> None:
        """Hands the job to the present leader of each partition."""
        if not job.is_wanted():
            return
        unknown, leaderless = [], []
        for partition in partitions:
            state = self._broker.image.partition(*partition)
            if state is None:
                unknown.append(partition)
            elif state.leader not in self._broker.view.live:
                leaderless.append(partition)
            else:
                self._due.setdefault(state.leader, {}).setdefault(job, []).append(partition)
                self._wake(state.leader)
        if leaderless:
            self._route_later(job, leaderless)
        if unknown:
            self._broker.tasks.start("markers of unknown topics", self._look_again(job, unknown))

    def _route_later(self, job: MarkerJob, partitions: list[TopicPartition]) -> None:
        self._broker.deadlines.after(RETRY_SECONDS, lambda: self._route(job, partitions))

    async def _look_again(self, job: MarkerJob, partitions: list[TopicPartition]) -> None:
        """A topic we have not heard of may be so new that only its leader has: gone is one that the store lacks too."""
        try:
            await self._broker.metadata.load()
        except StoreUnreachable:
            self._route_later(job, partitions)
            return
        gone = [partition for partition in partitions if self._broker.image.partition(*partition) is None]
        there = [partition for partition in partitions if partition not in gone]
        if there:
            self._route(job, there)
        if job.is_wanted():
            job.finish(gone)

    def append(self, request: WriteTxnMarkersRequest, now: Now) -> MarkerAppends:
        """Appends markers to partitions that we lead, whoever asks for it."""
        broker = self._broker
        return MarkerAppends(broker.coordinators, broker.partitions, broker.deadlines, broker.disk_room, request, now)

    # -- one request at a time to each broker ------------------------------------------------------------------------

    def _wake(self, broker_id: int) -> None:
        if broker_id not in self._sending:
            self._sending.add(broker_id)
            self._broker.tasks.start(f"markers to broker {broker_id}", self._send_all(broker_id))

    async def _send_all(self, broker_id: int) -> None:
        try:
            while due := self._take(broker_id):
                await self._send(broker_id, due)
        finally:
            self._sending.discard(broker_id)

    def _take(self, broker_id: int) -> Due:
        waiting = self._due.pop(broker_id, {})
        taken = {job: waiting.pop(job) for job in list(waiting)[:MARKERS_PER_REQUEST_MAX]}
        if waiting:
            self._due[broker_id] = waiting
        return {job: partitions for job, partitions in taken.items() if job.is_wanted()}

    async def _send(self, broker_id: int, due: Due) -> None:
        request = WriteTxnMarkersRequest([job.marker(partitions) for job, partitions in due.items()])
        try:
            response = await self._ask(broker_id, request)
        except Disconnected:
            for job, partitions in due.items():
                self._route_later(job, partitions)
            return
        for (job, partitions), result in zip(due.items(), response.markers, strict=True):
            codes = {
                TopicPartition(topic.name, part.partition_index): part.error_code
                for topic in result.topics
                for part in topic.partitions
            }
            self._judge(job, partitions, codes)

    async def _ask(self, broker_id: int, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
        if broker_id == self._broker.id:
            return await self.append(request, self._broker.check_lease()).until_done()
        return await self._broker.peers.ask(broker_id, request, WriteTxnMarkersResponse, VERSION, REQUEST_SECONDS_MAX)

    def _judge(self, job: MarkerJob, partitions: list[TopicPartition], codes: dict[TopicPartition, int]) -> None:
        again = [partition for partition in partitions if codes.get(partition) not in _DONE]
        if again:
            self._route_later(job, again)
        if job.is_wanted():
            job.finish([partition for partition in partitions if partition not in again])
