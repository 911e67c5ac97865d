"""A message as JSON, from a caller, to a message for the producer.

    {"key": "a", "value": "text"}                            stored as UTF-8
    {"value": {"any": ["JSON", 1]}}                          stored as compact JSON
    {"value": "aGVsbG8=", "encoding": "base64"}              stored as those bytes
    {"key": "a", "value": null}                              a tombstone

Anything else is refused with the place and the rule. Nothing is guessed: a field with an unknown name is a mistake.
"""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from headrace.client.produce.outgoing import Headers, Outgoing
from headrace.client.produce.texts import Texts, as_texts
from headrace.gateway.messages import exact_json
from headrace.gateway.problem import Problem

FIELDS = frozenset({"key", "value", "headers", "partition", "timestamp", "encoding", "key_encoding"})
ENCODINGS = ("text", "json", "base64")
PARTITION_MAX = 2**31 - 1
# Year 9999: beyond it no date can be shown.
INCOMING_TIMESTAMP_MAX = 253_402_300_799_999
_MISSING = object()
Where = str | int


def parse_messages(batch: list[Any]) -> Sequence[Outgoing]:
    """The messages of a POST with several; complaints name the number of the message."""
    return _texts(batch) or [parse_message(fields, number) for number, fields in enumerate(batch)]


def _texts(batch: list[Any]) -> Texts | None:
    """The messages in columns, if all are text and all have a key or none has; else None."""
    try:
        fields_each = set(map(len, batch))
        if fields_each == {1}:
            return as_texts([fields["value"] for fields in batch], None)
        if fields_each == {2}:
            return as_texts([fields["value"] for fields in batch], [fields["key"] for fields in batch])
    except (KeyError, TypeError):
        pass
    return None


def parse_message(fields: Any, where: Where = "") -> Outgoing:
    """`where` names the message for a complaint: a word, or its number in a batch."""
    if not isinstance(fields, dict):
        raise invalid(where, "a message is a JSON object", 'such as {"key": "a", "value": "hello"}')
    value, key = fields.get("value", _MISSING), fields.get("key")
    if type(value) is str and len(fields) == 1:
        return Outgoing(value.encode())
    if not fields.keys() <= FIELDS:
        raise _unknown_field(fields, where)
    if value is _MISSING:
        raise invalid(where, "value is missing", "null as the value makes a tombstone")
    return Outgoing(
        _bytes(value, fields.get("encoding"), "value", where),
        _bytes(key, fields.get("key_encoding"), "key", where),
        _headers(fields["headers"], where) if fields.get("headers") else None,
        _whole(fields, "partition", -1, PARTITION_MAX, where),
        _whole(fields, "timestamp", 0, INCOMING_TIMESTAMP_MAX, where),
    )


def invalid(where: Where, detail: str, fix: str) -> Problem:
    named = f"messages[{where}]" if isinstance(where, int) else where
    return Problem(422, "Invalid message", f"{named}: {detail}" if named else detail, fix)


def _bytes(value: Any, encoding: Any, name: str, where: Where) -> bytes | None:
    if value is None:
        return None
    if encoding is None:
        return value.encode() if isinstance(value, str) else _json(value, name, where)
    if encoding == "json":
        return _json(value, name, where)
    if encoding not in ENCODINGS:
        raise invalid(where, f"there is no encoding {encoding!r}", f"use one of {', '.join(ENCODINGS)}")
    if not isinstance(value, str):
        raise invalid(where, f"a {name} in {encoding} is a string", f'leave "encoding" away for JSON of any {name}')
    return value.encode() if encoding == "text" else _from_base64(value, name, where)


def _json(value: Any, name: str, where: Where) -> bytes:
    try:
        return exact_json.dumps(value)
    except ValueError as error:
        raise invalid(where, f"the {name} is {error}", "send it as text") from None


def _from_base64(text: str, name: str, where: Where) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise invalid(where, f"the {name} is not base64", "use the standard alphabet, with padding") from None


def _headers(headers: Any, where: Where) -> Headers:
    """An object, or pairs where a name repeats."""
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    if not isinstance(pairs, list) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise invalid(where, "headers are an object", 'such as {"trace": "abc"}, or [["trace", "abc"], …]')
    return [_header(name, value, where) for name, value in pairs]


def _header(name: Any, value: Any, where: Where) -> tuple[str, bytes | None]:
    if not isinstance(name, str):
        raise invalid(where, "the name of a header is a string", 'such as ["trace", "abc"]')
    if value is None:
        return name, None
    if isinstance(value, str):
        return name, value.encode()
    if isinstance(value, dict) and value.keys() == {"base64"} and isinstance(value["base64"], str):
        return name, _from_base64(value["base64"], f"header {name}", where)
    raise invalid(where, f"header {name} is no text", 'use a string, null, or {"base64": "…"}')


def _whole(fields: dict[str, Any], name: str, default: int, highest: int, where: Where) -> int:
    value = fields.get(name)
    if value is None:
        return default
    if type(value) is not int or not 0 <= value <= highest:
        raise invalid(where, f"{name} is {value!r:.40}", f"use a whole number from 0 to {highest}")
    return value


def _unknown_field(fields: dict[str, Any], where: Where) -> Problem:
    name = min(fields.keys() - FIELDS)
    return invalid(where, f"there is no field {name:.60}", f"the fields are {', '.join(sorted(FIELDS))}")
