"""kio as the oracle: its view of one of our messages, and values that both sides can hold.

kio has a class per version, wraps error codes, durations and times in types of its own, and holds None for a zero uuid.
Its error enum is closed, its times end in the year 9999 and lose a microsecond between whole seconds, so values are
drawn from what it can express.
"""

import io
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from headrace.wire.schema import Field, Message, Request, StructType

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
ERROR_CODES = [code.value for code in ErrorCode]
# Of the tags that are Headrace's own, and that Kafka leaves alone.
OWN_TAGS_FROM = 100
BITS = {"b": 8, "h": 16, "i": 32, "q": 64}


def kio_class(cls: type[Message], version: int) -> Any:
    load = load_request_schema if issubclass(cls, Request) else load_response_schema
    return load(cls.API_KEY, version)


def kio_encode(entity: Any) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def kio_decode(cls: Any, data: bytes) -> Any:
    entity, size = entity_reader(cls)(data, 0)
    assert size == len(data), (size, len(data))
    return entity


def _nested_class(kio_type: Any) -> Any:
    """The entity class inside a tuple or an optional type."""
    while not hasattr(kio_type, "__dataclass_fields__"):
        kio_type = next(arg for arg in kio_type.__args__ if arg not in (type(None), Ellipsis))
    return kio_type


@cache
def pairs(struct: StructType, kio: Any, version: int) -> list[tuple[Field, Any]]:
    """Our fields at this version, each with kio's, which drops the unit from the name of a duration."""
    theirs = {field.name: field for field in fields(kio)}
    ours = [each for each in struct.FIELDS if version in each.versions and (each.tag or 0) < OWN_TAGS_FROM]
    found = [(field, theirs.pop(field.name, None) or theirs.pop(field.name.removesuffix("_ms"))) for field in ours]
    assert not theirs, f"{struct.__name__} v{version} lacks {sorted(theirs)}"
    return found


def to_kio(message: Any, kio: Any, version: int) -> Any:
    values = {
        theirs.name: _field_to_kio(getattr(message, ours.name), ours, theirs, version)
        for ours, theirs in pairs(type(message), kio, version)
    }
    return kio(**values)


def _field_to_kio(value: Any, ours: Field, theirs: Any, version: int) -> Any:
    if ours.kind == "struct":
        if value is None:
            return theirs.default if ours.tag is not None else None
        return to_kio(value, _nested_class(theirs.type), version)
    if ours.kind == "array" and value is not None:
        if ours.of.kind == "struct":
            return tuple(to_kio(item, _nested_class(theirs.type), version) for item in value)
        return tuple(_scalar_to_kio(item, theirs.metadata["kafka_type"]) for item in value)
    return None if value is None else _scalar_to_kio(value, theirs.metadata["kafka_type"], "None" in str(theirs.type))


def _scalar_to_kio(value: Any, kafka_type: str, optional: bool = False) -> Any:
    match kafka_type:
        case "error_code":
            return ErrorCode(value)
        case "timedelta_i32" | "timedelta_i64":
            return timedelta(milliseconds=value)
        case "datetime_i64":
            return None if optional and value == -1 else EPOCH + timedelta(milliseconds=value)
        case "uuid":
            return UUID(bytes=value) if any(value) else None
        case "records" | "bytes":
            return bytes(value)
    return value


@cache
def messages(struct: StructType, kio: Any, version: int) -> st.SearchStrategy[Any]:
    return st.builds(
        struct, **{ours.name: _values(ours, theirs, version) for ours, theirs in pairs(struct, kio, version)}
    )


def _values(ours: Field, theirs: Any, version: int) -> st.SearchStrategy[Any]:
    values: st.SearchStrategy[Any]
    if ours.kind == "struct":
        values = messages(ours.of, _nested_class(theirs.type), version)
    elif ours.kind == "array" and ours.of.kind == "struct":
        values = st.lists(messages(ours.of.of, _nested_class(theirs.type), version), max_size=2)
    elif ours.kind == "array":
        values = st.lists(_scalars(ours.of, theirs.metadata["kafka_type"]), max_size=11)
    else:
        values = _scalars(ours, theirs.metadata["kafka_type"])
    optional = version in ours.nullable or (ours.kind == "struct" and ours.tag is not None)
    return st.none() | values if optional else values


def _scalars(field: Field, kafka_type: str) -> st.SearchStrategy[Any]:
    match kafka_type:
        case "error_code":
            return st.sampled_from(ERROR_CODES)
        case "timedelta_i64":
            return st.integers(-(10**14), 10**14)
        case "datetime_i64":
            return st.integers(0, 253402300799).map(lambda seconds: seconds * 1000)
        case "string":
            return st.text(max_size=5) | st.sampled_from(["x" * 126, "x" * 127, "é" * 9000])
        case "bytes" | "records":
            return st.binary(max_size=20) | st.sampled_from([b"y" * 127, b"y" * 20000])
        case "uuid":
            return st.binary(min_size=16, max_size=16)
        case "bool":
            return st.booleans()
        case "float64":
            return st.floats(allow_nan=False, allow_infinity=False)
        case "uint16":
            return st.integers(0, 2**16 - 1)
    bits = BITS[field.code]
    return st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
