"""A message between the wire and a terminal: kcat-like formats, and a JSON form that loses nothing.

Bytes that are not UTF-8 appear in JSON under `key_base64` and `value_base64`, which `produce --json-lines` reads back.
Text formats write the raw bytes.
"""

import base64
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.cli.failure import ExitCode, Failure

Headers = list[tuple[str, bytes | None]]


class ShownMessage(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


Render = Callable[[ShownMessage], bytes]

_ESCAPES = {"n": b"\n", "t": b"\t", "r": b"\r", "0": b"\0", "\\": b"\\"}


def unescape(text: str) -> bytes:
    r"""Reads \n \t \r \0 \\ and \xHH, since a shell hands them over as typed."""
    out, rest = bytearray(), iter(text)
    for char in rest:
        if char != "\\":
            out += char.encode()
            continue
        kind = next(rest, "\\")
        out += _hex(next(rest, "") + next(rest, "")) if kind == "x" else _ESCAPES.get(kind, b"\\" + kind.encode())
    return bytes(out)


def _hex(digits: str) -> bytes:
    try:
        return bytes.fromhex(digits.rjust(2, "?"))
    except ValueError:
        cause, fix = rf"\x{digits}: this is no hexadecimal byte", r"write two digits, for example \x1f"
        raise Failure(cause, fix, ExitCode.USAGE) from None


def compile_format(text: str, null: bytes = b"") -> Render:
    literal, *marked = text.replace("%%", "%\0").split("%")
    pieces: list[bytes | Render] = [unescape(literal)]
    for part in marked:
        pieces += [_placeholder(part[:1], null), unescape(part[1:])]
    return lambda message: b"".join(piece if isinstance(piece, bytes) else piece(message) for piece in pieces)


def _placeholder(letter: str, null: bytes) -> bytes | Render:
    fields: dict[str, bytes | Render] = {
        "\0": b"%",
        "t": lambda m: m.topic.encode(),
        "p": lambda m: b"%d" % m.partition,
        "o": lambda m: b"%d" % m.offset,
        "T": lambda m: b"%d" % m.timestamp,
        "k": lambda m: null if m.key is None else m.key,
        "v": lambda m: null if m.value is None else m.value,
        "s": lambda m: null if m.value is None else m.value,
        "K": lambda m: b"%d" % (-1 if m.key is None else len(m.key)),
        "S": lambda m: b"%d" % (-1 if m.value is None else len(m.value)),
        "h": lambda m: b",".join(
            name.encode() + b"=" + (null if value is None else value) for name, value in m.headers
        ),
    }
    if letter not in fields:
        raise Failure(
            f"--format: %{letter} is not known",
            "%t topic, %p partition, %o offset, %T timestamp, %k key, %v value, %h headers, %K and %S sizes",
            ExitCode.USAGE,
        )
    return fields[letter]


def to_json(message: ShownMessage) -> bytes:
    shown: dict[str, Any] = {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        **json_fields("key", message.key),
        **json_fields("value", message.value),
        "headers": [{"name": name, **json_fields("value", value)} for name, value in message.headers],
    }
    return json.dumps(shown, ensure_ascii=False).encode() + b"\n"


def json_fields(name: str, raw: bytes | None) -> dict[str, str | None]:
    if raw is None:
        return {name: None}
    try:
        return {name: raw.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(raw).decode()}


def json_bytes(fields: dict[str, Any], name: str) -> bytes | None:
    """The way back. A value that is JSON itself (an object, a number) is sent as its compact text."""
    encoded = fields.get(f"{name}_base64")
    if encoded is not None:
        return base64.b64decode(encoded, validate=True)
    value = fields.get(name)
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.encode()
