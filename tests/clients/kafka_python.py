"""kafka-python, the pure Python client, as producer, assigned consumer and admin client."""

import re
from collections.abc import Mapping, Sequence

from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import KafkaError

from clients.client import EARLIEST, LATEST, WAIT_S, Record, Refused
from eventually import collected
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition


class KafkaPython:
    name = "kafka-python"
    can_stamp = True

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int = 0,
        codec: str | None = None,
        idempotent: bool | None = None,
    ) -> None:
        settings: dict[str, object] = {}
        if codec is not None:
            settings["compression_type"] = None if codec == "none" else codec
        if idempotent is not None:
            settings["enable_idempotence"] = idempotent
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, **settings)
        try:
            sent = [_send(producer, topic, partition, record) for record in records]
            for future in sent:
                future.get(WAIT_S)
        except KafkaError as error:
            raise _refused(error) from error
        finally:
            producer.close(WAIT_S)

    def consume(self, topic: str, *, partition: int = 0, offset: int = 0, count: int) -> list[Record]:
        where = TopicPartition(topic, partition)
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap)
        try:
            consumer.assign([where])
            consumer.seek(where, offset)
            return _poll(consumer, where, count)
        finally:
            consumer.close()

    def offset_at(self, topic: str, when: int, *, partition: int = 0) -> int:
        where = TopicPartition(topic, partition)
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap)
        try:
            if when == EARLIEST:
                return consumer.beginning_offsets([where])[where]
            if when == LATEST:
                return consumer.end_offsets([where])[where]
            found = consumer.offsets_for_times({where: when})[where]
            return -1 if found is None else found.offset
        finally:
            consumer.close()

    def topics(self) -> dict[str, int]:
        return {topic["name"]: len(topic["partitions"]) for topic in self._ask("describe_topics")}

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
        self._ask("create_topics", {topic: {"num_partitions": partitions, "configs": dict(config or {})}})

    def partition_count(self, topic: str) -> int:
        return len(self._described(topic)["partitions"])

    def topic_id(self, topic: str) -> str:
        return str(self._described(topic)["topic_id"])

    def _described(self, topic: str):
        (described,) = self._ask("describe_topics", [topic])
        if described["error_code"]:
            raise Refused(described["error_code"])
        return described

    def delete_topic(self, topic: str) -> None:
        self._ask("delete_topics", [topic])

    def set_config(self, topic: str, name: str, value: str) -> None:
        # Unknown names are for the broker to refuse; the library would otherwise look them up first.
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})
        outcome = self._ask("alter_configs", [resource], raise_on_unknown=False)["topic"][topic]
        # The library gives a refusal back as text and raises nothing.
        refused = re.match(r"\[Error (\d+)\]", str(outcome))
        if refused:
            raise Refused(int(refused[1]), outcome)

    def config(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        entries = self._ask("describe_configs", [resource], config_filter="all")["topic"][topic]
        return {name: entry["value"] for name, entry in entries.items()}

    def create_partitions(self, topic: str, total: int) -> None:
        self._ask("create_partitions", {topic: total})

    def delete_records(self, topic: str, before_offset: int, *, partition: int = 0) -> None:
        self._ask("delete_records", {TopicPartition(topic, partition): before_offset})

    def _ask(self, call: str, *arguments, **options):
        admin = KafkaAdminClient(bootstrap_servers=self.bootstrap)
        try:
            return getattr(admin, call)(*arguments, **options)
        except KafkaError as error:
            raise _refused(error) from error
        finally:
            admin.close()


def _send(producer: KafkaProducer, topic: str, partition: int, record: Record):
    return producer.send(
        topic,
        value=record.value,
        key=record.key,
        headers=list(record.headers),
        partition=partition,
        timestamp_ms=record.timestamp_ms,
    )


def _poll(consumer: KafkaConsumer, where: TopicPartition, count: int) -> list[Record]:
    def taken() -> list[Record]:
        return [
            Record(message.key, message.value, tuple(message.headers), message.timestamp, message.offset)
            for message in consumer.poll(1000).get(where, ())
        ]

    return collected(taken, lambda records: len(records) >= count, WAIT_S)[:count]


def _refused(error: KafkaError) -> Exception:
    code = getattr(error, "errno", None)
    return error if code is None else Refused(code, str(error))
