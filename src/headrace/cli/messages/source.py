"""The sources of `produce`: a line, a whole file or a JSON object, each made into one message. Bytes in, bytes out."""

import binascii
import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.message import Headers, json_bytes


class InputMessage(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, str | bytes | None]]
    partition: int | None
    timestamp: int | None
    input_bytes: int


@dataclass(frozen=True)
class LineShape:
    key_separator: bytes | None = None
    null: bytes | None = None
    headers: Headers = field(default_factory=list)
    partition: int | None = None
    whole: bool = False
    json_lines: bool = False

    def parse(self, line: bytes) -> InputMessage:
        return self._parse_json(line) if self.json_lines else self._parse_text(line)

    def _parse_text(self, line: bytes) -> InputMessage:
        key: bytes | None = None
        value: bytes | None = line
        if self.key_separator is not None:
            key, separator, value = line.partition(self.key_separator)
            if not separator:
                key, value = None, line
        if self.null is not None:
            key, value = (None if part == self.null else part for part in (key, value))
        return InputMessage(key, value, [*self.headers], self.partition, None, len(line))

    def _parse_json(self, line: bytes) -> InputMessage:
        try:
            fields = json.loads(line)
            headers = [(item["name"], json_bytes(item, "value")) for item in fields.get("headers") or ()]
            return InputMessage(
                json_bytes(fields, "key"),
                json_bytes(fields, "value"),
                [*headers, *self.headers],
                self.partition if self.partition is not None else fields.get("partition"),
                fields.get("timestamp"),
                len(line),
            )
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
            raise Failure(
                f"this line is no message in JSON ({error}): {line[:80].decode(errors='replace')}",
                'write lines like {"key": "k", "value": "v", "headers": [{"name": "n", "value": "v"}]}',
                ExitCode.USAGE,
            ) from None


def read_messages(paths: Iterable[Path], shape: LineShape) -> Iterator[InputMessage]:
    opened = False
    for path in paths:
        opened = True
        with path.open("rb") as stream:
            yield from _messages_of(stream, shape)
    if not opened:
        yield from _messages_of(sys.stdin.buffer, shape)


def _messages_of(stream: BinaryIO, shape: LineShape) -> Iterator[InputMessage]:
    if shape.whole:
        yield shape.parse(stream.read())
        return
    for line in stream:
        bare = line.removesuffix(b"\n")
        # A blank line between JSON objects says nothing; a blank line of text is an empty message.
        if bare or not shape.json_lines:
            yield shape.parse(bare)


def input_size(paths: Iterable[Any]) -> int:
    return sum(path.stat().st_size for path in paths)
