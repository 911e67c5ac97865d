"""confluent-kafka as a member of a group."""

import time
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from clients.members.adapter import Positions

PASSING = {KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT}


class ConfluentMember:
    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._positions = Positions()

    def join(
        self,
        group: str,
        topic: str,
        assignor: str,
        instance_id: str | None,
        session_ms: int,
        auto_commit: bool,
        protocol: str = "classic",
    ) -> None:
        settings: dict[str, Any] = {
            "bootstrap.servers": self._bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": auto_commit,
            "auto.commit.interval.ms": 200,
        }
        if protocol == "consumer":
            settings |= {"group.protocol": protocol, "group.remote.assignor": assignor}
        else:
            settings |= {
                "partition.assignment.strategy": assignor,
                "session.timeout.ms": session_ms,
                "heartbeat.interval.ms": 200,
            }
        if instance_id:
            settings["group.instance.id"] = instance_id
        self._topic = topic
        self._consumer = Consumer(settings)
        self._consumer.subscribe([topic])

    def poll(self, wait_ms: int) -> dict[str, Any]:
        records: list[tuple[int, int]] = []
        deadline = time.monotonic() + wait_ms / 1000
        while (left := deadline - time.monotonic()) > 0:
            message = self._consumer.poll(0 if records else left)
            if message is None:
                break
            if message.error() is None:
                records.append((message.partition(), message.offset()))
            elif message.error().code() not in PASSING:
                raise RuntimeError(message.error().str())
        assigned = {each.partition for each in self._consumer.assignment()}
        self._positions.advance(records)
        self._positions.keep(assigned)
        return {"assigned": sorted(assigned), "records": records}

    def commit(self, metadata: str) -> dict[int, int]:
        offsets = [TopicPartition(self._topic, part, offset, metadata) for part, offset in self._positions.items()]
        if offsets:
            for each in self._consumer.commit(offsets=offsets, asynchronous=False):
                if each.error:
                    raise RuntimeError(each.error.str())
        return dict(self._positions)

    def committed(self, partition: int) -> tuple[int, str] | None:
        (found,) = self._consumer.committed([TopicPartition(self._topic, partition)], timeout=20)
        return None if found.offset < 0 else (found.offset, found.metadata or "")

    def seek(self, partition: int, offset: int) -> None:
        self._consumer.seek(TopicPartition(self._topic, partition, offset))

    def leave(self) -> None:
        self._consumer.close()
