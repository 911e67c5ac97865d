"""A client library in another language, behind a small program that reads one JSON request a line and answers in one.

The program stays up between calls: a JVM's start would otherwise outweigh the test. Bytes travel as base64.
"""

import base64
import json
import select
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from clients.build import franz_go, java_classpath
from clients.client import WAIT_S, Record, Refused


class LineDriver:
    can_stamp = True

    def __init__(self, name: str, command: list[str], bootstrap: str) -> None:
        self.name = name
        self._command = [*command, bootstrap]
        self._process: subprocess.Popen[bytes] | None = None

    def close(self) -> None:
        """Ends the program; the next call starts it anew."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def produce(
        self,
        topic: str,
        records: Sequence[Record],
        *,
        partition: int = 0,
        codec: str | None = None,
        idempotent: bool | None = None,
    ) -> None:
        self._ask(
            "produce",
            topic=topic,
            partition=partition,
            codec=codec,
            idempotent=idempotent,
            records=[_outgoing(record) for record in records],
        )

    def consume(self, topic: str, *, partition: int = 0, offset: int = 0, count: int) -> list[Record]:
        answer = self._ask(
            "consume", topic=topic, partition=partition, offset=offset, count=count, wait_ms=WAIT_S * 1000
        )
        return [_incoming(record) for record in answer]

    def offset_at(self, topic: str, when: int, *, partition: int = 0) -> int:
        return self._ask("offset_at", topic=topic, partition=partition, when=when)

    def topics(self) -> dict[str, int]:
        return self._ask("topics")

    def create_topic(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> None:
        self._ask("create_topic", topic=topic, partitions=partitions, config=dict(config or {}))

    def partition_count(self, topic: str) -> int:
        return self._ask("describe_topic", topic=topic)["partitions"]

    def topic_id(self, topic: str) -> str:
        return self._ask("describe_topic", topic=topic)["id"]

    def delete_topic(self, topic: str) -> None:
        self._ask("delete_topic", topic=topic)

    def set_config(self, topic: str, name: str, value: str) -> None:
        self._ask("set_config", topic=topic, name=name, value=value)

    def config(self, topic: str) -> dict[str, str]:
        return self._ask("config", topic=topic)

    def create_partitions(self, topic: str, total: int) -> None:
        self._ask("create_partitions", topic=topic, total=total)

    def delete_records(self, topic: str, before_offset: int, *, partition: int = 0) -> None:
        self._ask("delete_records", topic=topic, partition=partition, before_offset=before_offset)

    def _ask(self, op: str, **arguments: Any) -> Any:
        try:
            answer = self._exchange({"op": op, **arguments})
        except BaseException:
            # A late answer would be taken for that of the next call.
            self.close()
            raise
        if "code" in answer:
            raise Refused(answer["code"], answer["error"])
        assert "error" not in answer, f"{self.name} {op}: {answer['error']}"
        return answer["ok"]

    def _exchange(self, request: dict[str, Any]) -> dict[str, Any]:
        if self._process is None:
            self._process = _started(self._command)
        requests, answers = self._process.stdin, self._process.stdout
        assert requests and answers
        requests.write(json.dumps(request).encode() + b"\n")
        requests.flush()
        ready, _, _ = select.select([answers], [], [], 2 * WAIT_S)
        assert ready, f"the {self.name} program did not answer {request['op']} in {2 * WAIT_S} s"
        line = answers.readline()
        assert line, f"the {self.name} program ended with exit code {self._process.wait()}"
        return json.loads(line)


def _started(command: list[str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def java(bootstrap: str) -> LineDriver:
    # A small heap and one compiler tier: this JVM lives for seconds.
    return LineDriver(
        "java", ["java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", java_classpath(), "Driver"], bootstrap
    )


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
