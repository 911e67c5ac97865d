"""A record as JSON, for a caller: what `incoming` takes, so that what was read can be posted again.

    auto     text; JSON if it is an object or an array without numbers beyond 64 bits; base64 if it is not UTF-8
    text     text, or base64 if it is not UTF-8
    json     JSON of any kind, or text, or base64
    base64   base64

`encoding` and `key_encoding` say which it was, unless it was text. Headers are an object, or pairs if a name repeats.
"""

import base64
from collections.abc import Sequence
from typing import Any, Literal

import orjson

from headrace.gateway.messages import exact_json
from headrace.wire.records import Record

Encoding = Literal["auto", "text", "json", "base64"]
_OPENING = b"{["


def render_record(record: Record, encoding: Encoding = "auto") -> dict[str, Any]:
    offset, timestamp, key, value, headers = record
    fields: dict[str, Any] = {
        "offset": offset,
        "key": None,
        "value": None,
        "timestamp": timestamp,
        "headers": _render_headers(headers) if headers else {},
    }
    if key is not None:
        fields["key"], found = _render(key, encoding)
        if found != "text":
            fields["key_encoding"] = found
    if value is not None:
        fields["value"], found = _render(value, encoding)
        if found != "text":
            fields["encoding"] = found
    return fields


def render_line(record: Record, encoding: Encoding = "auto") -> bytes:
    return orjson.dumps(render_record(record, encoding), option=orjson.OPT_APPEND_NEWLINE)


def _render(value: bytes, encoding: Encoding) -> tuple[Any, str]:
    if encoding == "json" or (encoding == "auto" and value[:1] and value[0] in _OPENING):
        try:
            return exact_json.shown(value), "json"
        except ValueError:
            pass
    if encoding != "base64":
        try:
            return value.decode(), "text"
        except UnicodeDecodeError:
            pass
    return base64.b64encode(value).decode(), "base64"


def _render_headers(headers: Sequence[tuple[str, bytes | None]]) -> Any:
    rendered = [(name, _render_header(value)) for name, value in headers]
    as_object = dict(rendered)
    return as_object if len(as_object) == len(rendered) else rendered


def _render_header(value: bytes | None) -> Any:
    if value is None:
        return None
    text, found = _render(value, "text")
    return text if found == "text" else {"base64": text}
