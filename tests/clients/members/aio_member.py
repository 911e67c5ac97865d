"""aiokafka as a member of a group, on an event loop in a thread of its own: it must go on between the questions."""

import asyncio
import concurrent.futures
import threading
from collections.abc import Coroutine
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
from aiokafka.structs import OffsetAndMetadata

from clients.members.adapter import Positions

ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class AioMember:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._positions = Positions()
        self._asked: concurrent.futures.Future[Any] | None = None
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def join(
        self, group: str, topic: str, assignor: str, instance_id: str | None, session_ms: int, auto_commit: bool
    ) -> None:
        self._topic = topic
        settings = {
            "bootstrap_servers": self._bootstrap,
            "group_id": group,
            "group_instance_id": instance_id,
            "partition_assignment_strategy": [ASSIGNORS[assignor]],
            "session_timeout_ms": session_ms,
            "heartbeat_interval_ms": 200,
            "auto_offset_reset": "earliest",
            "enable_auto_commit": auto_commit,
            "auto_commit_interval_ms": 200,
        }
        # It joins while it starts, so all of a group must be able to start at the same time.
        self._starting = asyncio.run_coroutine_threadsafe(self._start(topic, settings), self._loop)

    async def _start(self, topic: str, settings: dict[str, Any]) -> None:
        self._consumer = AIOKafkaConsumer(topic, **settings)
        await self._consumer.start()

    def poll(self, wait_ms: int) -> dict[str, Any]:
        try:
            self._starting.result(wait_ms / 1000)
        except TimeoutError:
            return {"assigned": [], "records": []}
        polled = self._get(wait_ms)
        records = [(where.partition, each.offset) for where, messages in polled.items() for each in messages]
        assigned = {each.partition for each in self._consumer.assignment()}
        self._positions.advance(records)
        self._positions.keep(assigned)
        return {"assigned": sorted(assigned), "records": records}

    def _get(self, wait_ms: int) -> dict[TopicPartition, list[Any]]:
        """During a rebalance the library waits for its end, however long it takes; the group's other members, which
        that end depends on, must be polled meanwhile."""
        asked = self._asked or asyncio.run_coroutine_threadsafe(self._consumer.getmany(timeout_ms=wait_ms), self._loop)
        try:
            polled = asked.result(2 * wait_ms / 1000)
        except TimeoutError:
            self._asked = asked
            return {}
        self._asked = None
        return polled

    def commit(self, metadata: str) -> dict[int, int]:
        offsets = {self._where(part): OffsetAndMetadata(offset, metadata) for part, offset in self._positions.items()}
        self._run(self._consumer.commit(offsets))
        return dict(self._positions)

    def committed(self, partition: int) -> tuple[int, str] | None:
        # The library shows nobody the metadata string; its coordinator fetches it.
        where = self._where(partition)
        found = self._run(self._consumer._coordinator.fetch_committed_offsets([where])).get(where)
        return None if found is None else (found.offset, found.metadata)

    def seek(self, partition: int, offset: int) -> None:
        self._loop.call_soon_threadsafe(self._consumer.seek, self._where(partition), offset)

    def leave(self) -> None:
        self._run(self._consumer.stop())

    def _where(self, partition: int) -> TopicPartition:
        return TopicPartition(self._topic, partition)

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(40)
