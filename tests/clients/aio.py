"""aiokafka, the asyncio client. Each call runs on an event loop of its own; connections do not outlive a call."""

import asyncio
from collections.abc import Mapping, Sequence

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError

from clients.client import EARLIEST, LATEST, WAIT_S, Record, Refused


class Aiokafka:
    name = "aiokafka"
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
        asyncio.run(self._produce(topic, records, partition, settings))

    async def _produce(self, topic: str, records: Sequence[Record], partition: int, settings) -> None:
        try:
            async with AIOKafkaProducer(bootstrap_servers=self.bootstrap, **settings) as producer:
                sent = [await _send(producer, topic, partition, record) for record in records]
                await asyncio.wait_for(asyncio.gather(*sent), WAIT_S)
        except KafkaError as error:
            raise _refused(error) from error

    def consume(self, topic: str, *, partition: int = 0, offset: int = 0, count: int) -> list[Record]:
        return asyncio.run(self._consume(TopicPartition(topic, partition), offset, count))

    async def _consume(self, where: TopicPartition, offset: int, count: int) -> list[Record]:
        records: list[Record] = []
        async with AIOKafkaConsumer(bootstrap_servers=self.bootstrap) as consumer, asyncio.timeout(WAIT_S):
            consumer.assign([where])
            consumer.seek(where, offset)
            while len(records) < count:
                message = await consumer.getone(where)
                headers = tuple(message.headers)
                records.append(Record(message.key, message.value, headers, message.timestamp, message.offset))
        return records

    def offset_at(self, topic: str, when: int, *, partition: int = 0) -> int:
        return asyncio.run(self._offset_at(TopicPartition(topic, partition), when))

    async def _offset_at(self, where: TopicPartition, when: int) -> int:
        async with AIOKafkaConsumer(bootstrap_servers=self.bootstrap) as consumer:
            consumer.assign([where])
            if when == EARLIEST:
                return (await consumer.beginning_offsets([where]))[where]
            if when == LATEST:
                return (await consumer.end_offsets([where]))[where]
            found = (await consumer.offsets_for_times({where: when}))[where]
            return -1 if found is None else found.offset

    def topics(self) -> dict[str, int]:
        return {topic["topic"]: len(topic["partitions"]) for topic in self._ask("describe_topics")}

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
        answer = self._ask("create_topics", [NewTopic(topic, partitions, 1, topic_configs=dict(config or {}))])
        _raise_refusal(answer.topic_errors)

    def partition_count(self, topic: str) -> int:
        (described,) = self._ask("describe_topics", [topic])
        _raise_refusal([(topic, described["error_code"])])
        return len(described["partitions"])

    def delete_topic(self, topic: str) -> None:
        _raise_refusal(self._ask("delete_topics", [topic]).topic_error_codes)

    def set_config(self, topic: str, name: str, value: str) -> None:
        # AlterConfigs, the request before the incremental one: it replaces every override of the topic.
        (answer,) = self._ask("alter_configs", [ConfigResource(ConfigResourceType.TOPIC, topic, {name: value})])
        _raise_refusal([(topic, code, message) for code, message, _, _ in answer.resources])

    def config(self, topic: str) -> dict[str, str]:
        (answer,) = self._ask("describe_configs", [ConfigResource(ConfigResourceType.TOPIC, topic)])
        ((code, message, _, _, entries),) = answer.resources
        _raise_refusal([(topic, code, message)])
        return {name: value for name, value, *_ in entries}

    def create_partitions(self, topic: str, total: int) -> None:
        self._ask("create_partitions", {topic: NewPartitions(total)})

    def delete_records(self, topic: str, before_offset: int, *, partition: int = 0) -> None:
        self._ask("delete_records", {TopicPartition(topic, partition): RecordsToDelete(before_offset)})

    def _ask(self, call: str, *arguments):
        return asyncio.run(self._asked(call, *arguments))

    async def _asked(self, call: str, *arguments):
        admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
        await admin.start()
        try:
            return await getattr(admin, call)(*arguments)
        except KafkaError as error:
            raise _refused(error) from error
        finally:
            await admin.close()


async def _send(producer: AIOKafkaProducer, topic: str, partition: int, record: Record):
    return await producer.send(
        topic,
        value=record.value,
        key=record.key,
        headers=list(record.headers),
        partition=partition,
        timestamp_ms=record.timestamp_ms,
    )


def _raise_refusal(outcomes) -> None:
    for topic, code, *_ in outcomes:
        if code:
            raise Refused(code, topic)


def _refused(error: KafkaError) -> Exception:
    code = getattr(error, "errno", None)
    return error if code is None else Refused(code, str(error))
