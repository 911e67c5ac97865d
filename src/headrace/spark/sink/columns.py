"""The columns that the sink understands, checked once against the schema and taken from each Arrow batch as bare arrays.

    key, value    string or binary; value is required
    topic         string; without it the option `topic` is
    partition     int; null leaves the choice to the key
    headers       array<struct<key: string, value: binary>>
    timestamp     timestamp, read only with includeTimestamp

Names are matched without regard to case. Other columns are ignored, as Spark's Kafka sink does.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headrace.base.errors import UserError

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Octets = npt.NDArray[np.uint8]

# As they come from Arrow: not to be written.
_NO_INTS: Ints = np.frombuffer(b"", np.int32)
_NO_LONGS: Longs = np.frombuffer(b"", np.int64)
_NO_OCTETS: Octets = np.frombuffer(b"", np.uint8)

A = TypeVar("A", bound=np.ndarray[Any, Any])


class Strings(NamedTuple):
    """Byte strings: where each begins in `data` and how long it is, -1 for null."""

    starts: Ints
    lengths: Ints
    data: Octets


class Headers(NamedTuple):
    starts: Ints
    counts: Ints
    keys: Strings
    values: Strings


class Rows(NamedTuple):
    number: int
    keys: Strings
    values: Strings
    headers: Headers
    times: Longs
    """In ms; empty when the records get the time of writing."""
    partitions: Ints
    """Empty, or -1 where none is chosen."""
    topics: pa.DictionaryArray | None


NO_STRINGS = Strings(_NO_INTS, _NO_INTS, _NO_OCTETS)
NO_HEADERS = Headers(_NO_INTS, _NO_INTS, NO_STRINGS, NO_STRINGS)


class Columns(NamedTuple):
    """The index of each column in the batches; None for one that they do not have."""

    value: int
    key: int | None
    topic: int | None
    partition: int | None
    headers: int | None
    timestamp: int | None


def columns_of(schema: StructType, *, topic: str | None, headers: bool, timestamp: bool) -> Columns:
    """UserError when a column is missing or has a type that cannot be written."""
    at = {name.lower(): index for index, name in enumerate(schema.fieldNames())}
    kinds = {name: schema.fields[index].dataType for name, index in at.items()}
    if "value" not in at:
        raise UserError("the sink needs a column `value`", f"it got {', '.join(at) or 'none'}: rename or add one")
    if topic is None and "topic" not in at:
        raise UserError("the sink does not know where to write", "set the option `topic`, or add a column `topic`")
    for name in ("key", "value"):
        _check(kinds, name, (StringType, BinaryType), "string or binary")
    columns = Columns(
        value=at["value"],
        key=at.get("key"),
        topic=None if topic is not None else at["topic"],
        partition=at.get("partition"),
        headers=at.get("headers") if headers else None,
        timestamp=at.get("timestamp") if timestamp else None,
    )
    if columns.topic is not None:
        _check(kinds, "topic", (StringType,), "string")
    _check(kinds, "partition", (IntegerType, LongType), "int")
    if columns.headers is not None and not _is_headers(kinds["headers"]):
        raise _wrong_type("headers", kinds["headers"], "array<struct<key: string, value: binary>>")
    if timestamp:
        if columns.timestamp is None:
            raise UserError("includeTimestamp needs a column `timestamp`", "add one, or leave the option out")
        _check(kinds, "timestamp", (TimestampType, TimestampNTZType), "timestamp")
    return columns


def rows_of(batch: pa.RecordBatch, columns: Columns) -> Rows:
    return Rows(
        batch.num_rows,
        _strings(batch.column(columns.key)) if columns.key is not None else _nulls(batch.num_rows),
        _strings(batch.column(columns.value)),
        _headers(batch.column(columns.headers)) if columns.headers is not None else NO_HEADERS,
        _times(batch.column(columns.timestamp)) if columns.timestamp is not None else _NO_LONGS,
        _partitions(batch.column(columns.partition)) if columns.partition is not None else _NO_INTS,
        batch.column(columns.topic).dictionary_encode() if columns.topic is not None else None,
    )


def _check(kinds: dict[str, DataType], name: str, allowed: tuple[type[DataType], ...], wanted: str) -> None:
    if name in kinds and not isinstance(kinds[name], allowed):
        raise _wrong_type(name, kinds[name], wanted)


def _wrong_type(name: str, kind: DataType, wanted: str) -> UserError:
    return UserError(f"column `{name}` is {kind.simpleString()}", f"the sink writes {wanted}: cast it")


def _is_headers(kind: DataType) -> bool:
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    parts = [field.dataType for field in kind.elementType.fields]
    return (
        len(parts) == 2
        and isinstance(parts[0], (StringType, BinaryType))
        and isinstance(parts[1], (BinaryType, StringType))
    )


def _nulls(count: int) -> Strings:
    return Strings(_fixed(np.zeros(count, np.int32)), _fixed(np.full(count, -1, np.int32)), _NO_OCTETS)


def _strings(array: pa.Array) -> Strings:
    if array.type not in (pa.string(), pa.binary()):
        array = array.cast(pa.binary())
    _, offsets, data = array.buffers()
    bounds = np.frombuffer(offsets, np.int32)[array.offset : array.offset + len(array) + 1]
    lengths = bounds[1:] - bounds[:-1]
    if array.null_count:
        lengths[~array.is_valid().to_numpy(zero_copy_only=False)] = -1
    octets = _NO_OCTETS if data is None else _fixed(np.frombuffer(data, np.uint8))
    return Strings(_fixed(bounds[:-1]), _fixed(lengths), octets)


def _headers(array: pa.ListArray) -> Headers:
    bounds = array.offsets.to_numpy(zero_copy_only=False)
    counts = bounds[1:] - bounds[:-1]
    if array.null_count:
        counts[~array.is_valid().to_numpy(zero_copy_only=False)] = 0
    # Not `flatten`: it leaves out what null lists cover, and the bounds count that.
    entries = array.values
    keys = _strings(entries.field(0))
    if (keys.lengths < 0).any():
        raise UserError("a header has no key", "keys of headers must not be null")
    return Headers(_fixed(bounds[:-1]), _fixed(counts), keys, _strings(entries.field(1)))


def _times(array: pa.Array) -> Longs:
    if array.null_count:
        raise UserError("a row has no timestamp", "with includeTimestamp every row needs one")
    milliseconds: Longs = array.cast(pa.timestamp("us", array.type.tz)).cast(pa.int64()).to_numpy() // 1000
    return _fixed(milliseconds)


def _partitions(array: pa.Array) -> Ints:
    numbers: Ints = array.fill_null(-1).to_numpy(zero_copy_only=False)
    if (numbers < 0).any() and (array.drop_null().to_numpy(zero_copy_only=False) < 0).any():
        raise UserError(f"column `partition` has {numbers.min()}", "partitions are numbered from 0")
    return _fixed(numbers.astype(np.int32))


def _fixed(array: A) -> A:
    """Compiled code tells arrays that may be written from those that may not: all of ours are of the second kind."""
    array.flags.writeable = False
    return array
