"""kcat, as Debian packages it (librdkafka 2.0.2), driven as a command.

Its input has no escapes, so each record goes in by a call of its own, unless all of them are bare values.
It cannot choose timestamps, and it does not send an empty value without a key.
"""

import json
import re
import subprocess
from collections.abc import Sequence

from clients.client import WAIT_S, Record, Refused

KEY_END = "\x1f"
RECORD_END = "\x1e"
CODES = {"Unknown topic or partition": 3, "Message size too large": 10, "Invalid topic": 17}


class Kcat:
    name = "kcat"
    can_stamp = False

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
        options = ["-P", "-t", topic, "-p", str(partition), "-D", RECORD_END]
        if codec is not None:
            options += ["-z", codec]
        if idempotent is not None:
            options += ["-X", f"enable.idempotence={str(idempotent).lower()}"]
        if all(record.key is None and record.value and not record.headers for record in records):
            self._run(*options, stdin=b"".join(record.value + RECORD_END.encode() for record in records))
            return
        for record in records:
            self._produce_one(options, record)

    def _produce_one(self, options: list[str], record: Record) -> None:
        stdin = (record.value or b"") + RECORD_END.encode()
        if record.key is not None:
            options = [*options, "-K", KEY_END]
            stdin = record.key + KEY_END.encode() + stdin
        if record.value is None:
            options = [*options, "-Z"]
        for name, value in record.headers:
            options = [*options, "-H", name if value is None else f"{name}={value.decode()}"]
        self._run(*options, stdin=stdin)

    def consume(self, topic: str, *, partition: int = 0, offset: int = 0, count: int) -> list[Record]:
        where = ["-t", topic, "-p", str(partition), "-o", str(offset), "-c", str(count)]
        # Lengths come first, so that keys and values may hold any byte.
        out = self._run("-C", "-q", *where, "-f", r"%o %T %K %S %h\n%k%s\n")
        return list(_records(out))

    def offset_at(self, topic: str, when: int, *, partition: int = 0) -> int:
        out = self._run("-Q", "-t", f"{topic}:{partition}:{when}")
        return int(re.search(rb"offset (-?\d+)", out)[1])

    def topics(self) -> dict[str, int]:
        listing = json.loads(self._run("-L", "-J"))
        return {topic["topic"]: len(topic["partitions"]) for topic in listing["topics"]}

    def _run(self, *options: str, stdin: bytes = b"") -> bytes:
        done = subprocess.run(
            ["kcat", "-b", self.bootstrap, *options], input=stdin, capture_output=True, timeout=WAIT_S, check=False
        )
        errors = done.stderr.decode()
        for text, code in CODES.items():
            if text in errors:
                raise Refused(code, errors)
        assert done.returncode == 0, f"kcat {options}: exit {done.returncode}: {errors}"
        return done.stdout


def _records(out: bytes):
    position = 0
    while position < len(out):
        end = out.index(b"\n", position)
        offset, timestamp, key_size, value_size, headers = out[position:end].split(b" ", 4)
        position = end + 1
        key, position = _take(out, position, int(key_size))
        value, position = _take(out, position, int(value_size))
        position += 1
        yield Record(key, value, _headers(headers), int(timestamp), int(offset))


def _take(out: bytes, position: int, size: int) -> tuple[bytes | None, int]:
    if size < 0:
        return None, position
    return out[position : position + size], position + size


def _headers(text: bytes) -> tuple[tuple[str, bytes | None], ...]:
    pairs = [pair.split(b"=", 1) for pair in text.split(b",") if pair]
    return tuple((name.decode(), None if value == b"NULL" else value) for name, value in pairs)
