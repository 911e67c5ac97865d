"""confluent-kafka (a current librdkafka), as producer, assigned consumer and admin client."""

import time
from collections.abc import Mapping, Sequence

from confluent_kafka import Consumer, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)
from confluent_kafka.admin import OffsetSpec as Spec

from clients.client import EARLIEST, LATEST, WAIT_S, Record, Refused


class Confluent:
    name = "confluent-kafka"
    can_stamp = True

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap})

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int = 0,
        codec: str | None = None,
        idempotent: bool | None = None,
    ) -> None:
        settings: dict[str, object] = {"bootstrap.servers": self.bootstrap}
        if codec is not None:
            settings["compression.type"] = codec
        if idempotent is not None:
            settings["enable.idempotence"] = idempotent
        producer = Producer(settings)
        errors = []
        for record in records:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition,
                on_delivery=lambda error, _: errors.append(error) if error else None,
                timestamp=record.timestamp_ms or 0,
                headers=list(record.headers),
            )
        assert producer.flush(WAIT_S) == 0, "not delivered in time"
        if errors:
            raise Refused(errors[0].code(), errors[0].str())

    def consume(self, topic: str, *, partition: int = 0, offset: int = 0, count: int) -> list[Record]:
        # librdkafka insists on a group id; with an assigned offset and no commits no group is ever joined.
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "assigned", "enable.auto.commit": False})
        try:
            consumer.assign([TopicPartition(topic, partition, offset)])
            return _poll(consumer, count)
        finally:
            consumer.close()

    def offset_at(self, topic: str, when: int, *, partition: int = 0) -> int:
        spec = {EARLIEST: Spec.earliest, LATEST: Spec.latest}.get(when, lambda: Spec.for_timestamp(when))()
        where = TopicPartition(topic, partition)
        return _answer(self._admin.list_offsets({where: spec}, request_timeout=WAIT_S)).offset

    def topics(self) -> dict[str, int]:
        listing = self._admin.list_topics(timeout=WAIT_S)
        return {name: len(topic.partitions) for name, topic in listing.topics.items()}

    def create_topic(
        self, topic: str, partitions: int, config: Mapping[str, str] | None = None, replication_factor: int = -1
    ) -> None:
        _answer(self._admin.create_topics([NewTopic(topic, partitions, replication_factor, config=dict(config or {}))]))

    def partition_count(self, topic: str) -> int:
        return len(self._described(topic).partitions)

    def topic_id(self, topic: str) -> str:
        return str(self._described(topic).topic_id)

    def _described(self, topic: str):
        return _answer(self._admin.describe_topics(TopicCollection([topic]), request_timeout=WAIT_S))

    def delete_topic(self, topic: str) -> None:
        _answer(self._admin.delete_topics([topic]))

    def set_config(self, topic: str, name: str, value: str) -> None:
        change = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
        _answer(self._admin.incremental_alter_configs([resource]))

    def config(self, topic: str) -> dict[str, str]:
        entries = _answer(self._admin.describe_configs([ConfigResource(ResourceType.TOPIC, topic)]))
        return {name: entry.value for name, entry in entries.items()}

    def create_partitions(self, topic: str, total: int) -> None:
        _answer(self._admin.create_partitions([NewPartitions(topic, total)]))

    def delete_records(self, topic: str, before_offset: int, *, partition: int = 0) -> None:
        _answer(self._admin.delete_records([TopicPartition(topic, partition, before_offset)]))


def _answer(futures):
    (future,) = futures.values()
    try:
        return future.result(WAIT_S)
    except KafkaException as error:
        raise Refused(error.args[0].code(), error.args[0].str()) from error


def _poll(consumer: Consumer, count: int) -> list[Record]:
    records: list[Record] = []
    deadline = time.monotonic() + WAIT_S
    while len(records) < count and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error():
            raise Refused(message.error().code(), message.error().str())
        headers = tuple((name, value) for name, value in message.headers() or ())
        records.append(Record(message.key(), message.value(), headers, message.timestamp()[1], message.offset()))
    return records
