"""A client library in another language, behind a program that answers line by line. Bytes travel as base64."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from clients.build import franz_go, java_classpath
from clients.client import WAIT_S, Record
from clients.line_program import LineProgram


class LineDriver(LineProgram):
    can_stamp = True

    def __init__(self, name: str, command: list[str], bootstrap: str) -> None:
        super().__init__(name, [*command, bootstrap])

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int = 0,
        codec: str | None = None,
        idempotent: bool | None = None,
    ) -> None:
        self.ask(
            "produce",
            topic=topic,
            partition=partition,
            codec=codec,
            idempotent=idempotent,
            records=[_outgoing(record) for record in records],
        )

    def consume(self, topic: str, *, partition: int = 0, offset: int = 0, count: int) -> list[Record]:
        answer = self.ask(
            "consume", topic=topic, partition=partition, offset=offset, count=count, wait_ms=WAIT_S * 1000
        )
        return [_incoming(record) for record in answer]

    def offset_at(self, topic: str, when: int, *, partition: int = 0) -> int:
        return self.ask("offset_at", topic=topic, partition=partition, when=when)

    def topics(self) -> dict[str, int]:
        return self.ask("topics")

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
        self.ask("create_topic", topic=topic, partitions=partitions, config=dict(config or {}))

    def partition_count(self, topic: str) -> int:
        return self.ask("describe_topic", topic=topic)["partitions"]

    def topic_id(self, topic: str) -> str:
        return self.ask("describe_topic", topic=topic)["id"]

    def delete_topic(self, topic: str) -> None:
        self.ask("delete_topic", topic=topic)

    def set_config(self, topic: str, name: str, value: str) -> None:
        self.ask("set_config", topic=topic, name=name, value=value)

    def config(self, topic: str) -> dict[str, str]:
        return self.ask("config", topic=topic)

    def create_partitions(self, topic: str, total: int) -> None:
        self.ask("create_partitions", topic=topic, total=total)

    def delete_records(self, topic: str, before_offset: int, *, partition: int = 0) -> None:
        self.ask("delete_records", topic=topic, partition=partition, before_offset=before_offset)


# A small heap and one compiler tier: this JVM lives for seconds.
JVM = ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]


def java_command(program: str) -> list[str]:
    return [*JVM, "-cp", java_classpath(), program]


def java(bootstrap: str) -> LineDriver:
    return LineDriver("java", java_command("Driver"), bootstrap)


def go(bootstrap: str) -> LineDriver:
    return LineDriver("franz-go", [str(franz_go())], bootstrap)


def _outgoing(record: Record) -> dict[str, Any]:
    return {
        "key": _text(record.key),
        "value": _text(record.value),
        "headers": [{"name": name, "value": _text(value)} for name, value in record.headers],
        "timestamp": record.timestamp_ms,
    }


def _incoming(record: dict[str, Any]) -> Record:
    headers = tuple((header["name"], _bytes(header["value"])) for header in record["headers"] or ())
    return Record(_bytes(record["key"]), _bytes(record["value"]), headers, record["timestamp"], record["offset"])


def _text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
