"""WriteTxnMarkers carried out: each marker appended to the partitions we lead, answered when all of that is committed.

A partition of `__consumer_offsets` is written through the coordinator of its groups, which has to know as well: offsets
that were pending become the group's, or are dropped.
"""

import asyncio

from headrace.base.clock import Now
from headrace.base.errors import DiskFull, Refused
from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.disk.room import DiskRoom
from headrace.broker.net.deadlines import Deadlines
from headrace.broker.partitions import Partitions
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.transactions import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from headrace.wire.records import Marker

# Less than whoever asks us waits for an answer: asked again, a marker that is there is not written again.
WAIT_SECONDS_MAX = 2.5


class MarkerAppends:
    """A waiter for each partition whose marker is not committed yet."""

    def __init__(
        self,
        groups: GroupCoordinators,
        partitions: Partitions,
        deadlines: Deadlines,
        disk_room: DiskRoom,
        request: WriteTxnMarkersRequest,
        now: Now,
    ) -> None:
        self._groups = groups
        self._partitions = partitions
        self._deadlines = deadlines
        self._disk_room = disk_room
        self._now = now
        self._waiting: dict[int, WritableTxnMarkerPartitionResult] = {}
        self._done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._response = WriteTxnMarkersResponse([self._append_all(marker) for marker in request.markers])

    async def until_done(self) -> WriteTxnMarkersResponse:
        if self._waiting:
            deadline = self._deadlines.after(WAIT_SECONDS_MAX, self._on_timeout)
            await self._done
            deadline.cancel()
        return self._response

    def _append_all(self, marker: WritableTxnMarker) -> WritableTxnMarkerResult:
        topics = [
            WritableTxnMarkerTopicResult(
                topic.name, [self._append(marker, topic.name, index) for index in topic.partition_indexes]
            )
            for topic in marker.topics
        ]
        return WritableTxnMarkerResult(marker.producer_id, topics)

    def _append(self, asked: WritableTxnMarker, topic: str, index: int) -> WritableTxnMarkerPartitionResult:
        result = WritableTxnMarkerPartitionResult(index)
        marker = Marker(asked.transaction_result, asked.coordinator_epoch)
        producer = asked.producer_id, asked.producer_epoch
        try:
            partition = self._partitions.hosted(topic, index)
            if topic == self._groups.topic:
                coordinator = self._groups.at(index)
                if coordinator is None:
                    raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition.id} is not coordinated here")
                end_offset = coordinator.end_transaction(marker, *producer, asked.transaction_version)
            else:
                end_offset = partition.appends.append_marker(marker, *producer, asked.transaction_version, self._now)
        except Refused as refusal:
            result.error_code = refusal.code
        except DiskFull:
            self._disk_room.look()
            result.error_code = ErrorCode.KAFKA_STORAGE_ERROR
        else:
            if partition.wait(end_offset, -1, self, result):
                self._waiting[id(result)] = result
        return result

    # -- as a waiter -----------------------------------------------------------------------------------------------

    def is_waiting(self, result: WritableTxnMarkerPartitionResult) -> bool:
        return id(result) in self._waiting

    def on_reached(self, result: WritableTxnMarkerPartitionResult) -> None:
        if self._waiting.pop(id(result), None) is not None and not self._waiting and not self._done.done():
            self._done.set_result(None)

    def on_lost(self, result: WritableTxnMarkerPartitionResult, code: int) -> None:
        result.error_code = code
        self.on_reached(result)

    def _on_timeout(self) -> None:
        for result in list(self._waiting.values()):
            self.on_lost(result, ErrorCode.REQUEST_TIMED_OUT)
