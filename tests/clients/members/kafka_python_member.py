"""kafka-python as a member of a group, polled in a thread of its own.

A poll whose time ends between the answers to JoinGroup and SyncGroup makes version 3.0.12 forget that it has joined: it
neither reads nor joins again. So its polls are long, and one that is under way is looked at again by the next question.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

from clients.members.adapter import Positions
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "cooperative-sticky": CooperativeStickyAssignor,
}


POLL_MS = 600_000


class KafkaPythonMember:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._positions = Positions()
        self._poller = ThreadPoolExecutor(1)
        self._asked: Future[dict[TopicPartition, list[Any]]] | None = None

    def join(
        self, group: str, topic: str, assignor: str, instance_id: str | None, session_ms: int, auto_commit: bool
    ) -> None:
        self._topic = topic
        self._consumer = KafkaConsumer(
            topic,
            bootstrap_servers=self._bootstrap,
            group_id=group,
            group_instance_id=instance_id,
            partition_assignment_strategy=[ASSIGNORS[assignor]],
            session_timeout_ms=session_ms,
            heartbeat_interval_ms=200,
            auto_offset_reset="earliest",
            enable_auto_commit=auto_commit,
            auto_commit_interval_ms=200,
        )

    def poll(self, wait_ms: int) -> dict[str, Any]:
        polled = self._get(wait_ms)
        records = [(where.partition, each.offset) for where, messages in polled.items() for each in messages]
        assigned = {each.partition for each in self._consumer.assignment()}
        self._positions.advance(records)
        self._positions.keep(assigned)
        return {"assigned": sorted(assigned), "records": records}

    def _get(self, wait_ms: int) -> dict[TopicPartition, list[Any]]:
        asked = self._asked or self._poller.submit(self._consumer.poll, POLL_MS)
        try:
            polled = asked.result(wait_ms / 1000)
        except TimeoutError:
            self._asked = asked
            return {}
        self._asked = None
        return polled

    def commit(self, metadata: str) -> dict[int, int]:
        self._consumer.commit(
            {self._where(part): OffsetAndMetadata(offset, metadata, -1) for part, offset in self._positions.items()}
        )
        return dict(self._positions)

    def committed(self, partition: int) -> tuple[int, str] | None:
        found = self._consumer.committed(self._where(partition), metadata=True)
        return None if found is None else (found.offset, found.metadata)

    def seek(self, partition: int, offset: int) -> None:
        self._consumer.seek(self._where(partition), offset)

    def leave(self) -> None:
        self._consumer.close()

    def _where(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition)
