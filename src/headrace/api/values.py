"""Values as bytes: bytes and text as they are, models and plain values as JSON, records by an Avro schema."""

import io
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from headrace.api.errors import ApiError, Unserialisable

Schema = Mapping[str, Any] | str


def to_bytes(value: object, schema: Schema | None = None) -> bytes | None:
    """None stays None: in a compacted topic it deletes its key."""
    if schema is not None:
        return _avro_bytes(value, schema)
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return _text_bytes(value)
    if callable(as_json := getattr(value, "model_dump_json", None)) and not isinstance(value, type):
        return str(as_json()).encode()
    return _json_bytes(value)


def from_avro(data: bytes, schema: Schema) -> Any:
    try:
        return _fastavro().schemaless_reader(io.BytesIO(data), _parsed(schema), None)
    except (EOFError, IndexError, ValueError, UnicodeDecodeError) as failure:
        raise ApiError(
            f"this value is no record of the schema: {failure!r}", "read it with its writer's schema"
        ) from None


def _text_bytes(value: str) -> bytes:
    try:
        return value.encode()
    except UnicodeEncodeError as failure:
        raise Unserialisable(f"this text is no UTF-8: {failure}", "send bytes, or correct the text") from None


def _json_bytes(value: object) -> bytes:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as failure:
        raise Unserialisable(
            f"a value of type {type(value).__name__} cannot be sent: {failure}",
            "send bytes, str, plain JSON values or a pydantic model, or pass schema= for Avro",
        ) from None


def _avro_bytes(value: object, schema: Schema) -> bytes:
    out, fastavro, parsed = io.BytesIO(), _fastavro(), _parsed(schema)
    try:
        fastavro.schemaless_writer(out, parsed, value)
    except Exception as failure:  # fastavro raises whatever the value's type does
        raise Unserialisable(
            f"the value does not fit its Avro schema: {failure}", "correct the value, or the schema"
        ) from None
    return out.getvalue()


def _parsed(schema: Schema) -> Any:
    return _parse(schema if isinstance(schema, str) else json.dumps(schema))


@lru_cache(maxsize=128)
def _parse(text: str) -> Any:
    try:
        return _fastavro().parse_schema(json.loads(text))
    except Exception as failure:  # of many kinds, all of them about the schema
        raise ApiError(f"this is no Avro schema: {failure}", "pass a schema as a dict or as JSON text") from None


def _fastavro() -> Any:
    try:
        import fastavro
    except ImportError:
        raise ApiError("Avro needs the package fastavro", "pip install 'headrace[avro]'") from None
    return fastavro
