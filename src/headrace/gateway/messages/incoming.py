"""A message as JSON, from a caller, to a message for the producer.

    {"key": "a", "value": "text"}                            stored as UTF-8
    {"value": {"any": ["JSON", 1]}}                          stored as compact JSON
    {"value": "aGVsbG8=", "encoding": "base64"}              stored as those bytes
    {"key": "a", "value": null}                              a tombstone

Anything else is refused with the place and the rule. Nothing is guessed: a field with an unknown name is a mistake.
"""

import base64
import binascii
from typing import Any

import orjson

from headrace.gateway.problem import Problem
from headrace.gateway.producer import Headers, Outgoing

FIELDS = frozenset({"key", "value", "headers", "partition", "timestamp", "encoding", "key_encoding"})
ENCODINGS = ("text", "json", "base64")
PARTITION_MAX = 2**31 - 1
# Year 9999: beyond it no date can be shown.
TIMESTAMP_MAX = 253_402_300_799_999
_MISSING = object()


def parse_message(fields: Any, where: str = "") -> Outgoing:
    """`where` names the message in a batch, as the start of the complaint."""
    if not isinstance(fields, dict):
        raise invalid(where, "a message is a JSON object", 'such as {"key": "a", "value": "hello"}')
    if not fields.keys() <= FIELDS:
        raise _unknown_field(fields, where)
    value = fields.get("value", _MISSING)
    if value is _MISSING:
        raise invalid(where, "value is missing", "null as the value makes a tombstone")
    # A string is by far the most common: no further look at how it is written.
    if type(value) is not str or "encoding" in fields:
        value = _bytes(value, fields.get("encoding"), "value", where)
    else:
        value = value.encode()
    key = fields.get("key")
    if key is not None:
        key = _bytes(key, fields.get("key_encoding"), "key", where)
    if len(fields) == 1 or fields.keys() <= {"key", "value"}:
        return Outgoing(value, key)
    return Outgoing(
        value,
        key,
        _headers(fields["headers"], where) if fields.get("headers") else None,
        _whole(fields, "partition", -1, PARTITION_MAX, where),
        _whole(fields, "timestamp", 0, TIMESTAMP_MAX, where),
    )


def invalid(where: str, detail: str, fix: str) -> Problem:
    return Problem(422, "Invalid message", f"{where}: {detail}" if where else detail, fix)


def _bytes(value: Any, encoding: Any, name: str, where: str) -> bytes | None:
    if value is None:
        return None
    if encoding is None:
        return value.encode() if isinstance(value, str) else orjson.dumps(value)
    if encoding == "json":
        return orjson.dumps(value)
    if encoding not in ENCODINGS:
        raise invalid(where, f"there is no encoding {encoding!r}", f"use one of {', '.join(ENCODINGS)}")
    if not isinstance(value, str):
        raise invalid(where, f"a {name} in {encoding} is a string", f'leave "encoding" away for JSON of any {name}')
    return value.encode() if encoding == "text" else _from_base64(value, name, where)


def _from_base64(text: str, name: str, where: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise invalid(where, f"the {name} is not base64", "use the standard alphabet, with padding") from None


def _headers(headers: Any, where: str) -> Headers:
    """An object, or pairs where a name repeats."""
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    if not isinstance(pairs, list) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise invalid(where, "headers are an object", 'such as {"trace": "abc"}, or [["trace", "abc"], …]')
    return [_header(name, value, where) for name, value in pairs]


def _header(name: Any, value: Any, where: str) -> tuple[str, bytes | None]:
    if not isinstance(name, str):
        raise invalid(where, "the name of a header is a string", 'such as ["trace", "abc"]')
    if value is None:
        return name, None
    if isinstance(value, str):
        return name, value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"} and isinstance(value["base64"], str):
        return name, _from_base64(value["base64"], f"header {name}", where)
    raise invalid(where, f"header {name} is no text", 'use a string, null, or {"base64": "…"}')


def _whole(fields: dict[str, Any], name: str, default: int, highest: int, where: str) -> int:
    value = fields.get(name)
    if value is None:
        return default
    if type(value) is not int or not 0 <= value <= highest:
        raise invalid(where, f"{name} is {value!r:.40}", f"use a whole number from 0 to {highest}")
    return value


def _unknown_field(fields: dict[str, Any], where: str) -> Problem:
    name = min(fields.keys() - FIELDS)
    return invalid(where, f"there is no field {name:.60}", f"the fields are {', '.join(sorted(FIELDS))}")
