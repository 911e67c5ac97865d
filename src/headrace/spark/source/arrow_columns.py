"""The columns of a topic, built from an index of its records: those that the reader's schema has, in its order.

Names and types are those of Spark's own Kafka connector; keys and values may also be asked for as strings.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from headrace.base.ids import TopicPartition
from headrace.spark.source import kernels
from headrace.wire.batch import CorruptBatch

_MILLISECONDS_MAX = (2**63 - 1) // 1000

Numbers = NDArray[np.int64]
Buffer = NDArray[np.uint8]


class ArrowColumns:
    def __init__(self, id: TopicPartition, schema: pa.Schema) -> None:
        self._id = id
        self._schema = schema
        self._same: dict[str, Any] = {}
        """Columns that have one value for the whole partition, as long as they were last needed."""

    def build(self, buffer: Buffer, records: Numbers) -> pa.RecordBatch:
        columns = [self._column(field, buffer, records) for field in self._schema]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _column(self, field: pa.Field, buffer: Buffer, records: Numbers) -> pa.Array:
        name = field.name
        if name in ("topic", "partition"):
            return self._constant(field, len(records))
        if name == "key":
            return _bytes(field.type, buffer, records[:, kernels.KEY_AT], records[:, kernels.KEY_SIZE])
        if name == "value":
            return _bytes(field.type, buffer, records[:, kernels.VALUE_AT], records[:, kernels.VALUE_SIZE])
        if name == "headers":
            return _headers(field.type, buffer, records)
        if name == "offset":
            return _numbers(field.type, records[:, kernels.OFFSET])
        if name == "timestampType":
            return _numbers(field.type, records[:, kernels.TIME_TYPE].astype(np.int32))
        assert name == "timestamp", f"no column is named {name}"
        # Arrow counts microseconds: a time that this cannot hold becomes the last that it can.
        milliseconds = np.clip(records[:, kernels.TIME], -_MILLISECONDS_MAX, _MILLISECONDS_MAX)
        return _numbers(field.type, milliseconds * 1000)

    def _constant(self, field: pa.Field, rows: int) -> pa.Array:
        known = self._same.get(field.name)
        if known is None or len(known) < rows:
            value = self._id.topic if field.name == "topic" else self._id.partition
            known = self._same[field.name] = pa.repeat(pa.scalar(value, field.type), rows)
        return known[:rows]


def _numbers(type: pa.DataType, values: NDArray[Any]) -> pa.Array:
    return pa.Array.from_buffers(type, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def _bytes(type: pa.DataType, buffer: Buffer, at: Numbers, sizes: Numbers) -> pa.Array:
    """A binary or string column; of strings the bytes are taken at their word."""
    rows = len(at)
    ends = np.empty(rows + 1, np.int32)
    data = np.empty(int(np.maximum(sizes, 0).sum()), np.uint8)
    valid = np.zeros((rows + 7) // 8, np.uint8)
    nulls = kernels.gather(buffer, at, sizes, ends, data, valid)
    validity = pa.py_buffer(valid) if nulls else None
    return pa.Array.from_buffers(type, rows, [validity, pa.py_buffer(ends), pa.py_buffer(data)], nulls)


def _headers(type: pa.DataType, buffer: Buffer, records: Numbers) -> pa.Array:
    """A list of (key, value) for each record; null without headers, as the connector has it."""
    counts = records[:, kernels.HEADERS]
    ends = np.zeros(len(records) + 1, np.int32)
    np.cumsum(counts, out=ends[1:])
    places = np.empty((int(ends[-1]), 4), np.int64)
    if kernels.index_headers(buffer, records, places) < 0:
        raise CorruptBatch("the headers of a record are malformed")
    struct = type.value_type
    fields = [
        _bytes(struct.field(0).type, buffer, places[:, 0], places[:, 1]),
        _bytes(struct.field(1).type, buffer, places[:, 2], places[:, 3]),
    ]
    children = pa.Array.from_buffers(struct, len(places), [None], children=fields)
    validity = np.packbits(counts > 0, bitorder="little")
    return pa.Array.from_buffers(type, len(records), [pa.py_buffer(validity), pa.py_buffer(ends)], children=[children])
