"""Records of a range of offsets as Arrow, under the names that a lake table has for them."""

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from headrace.base.ids import TopicPartition
from headrace.pipelines.columns import RAW
from headrace.pipelines.kafka import Kafka, TopicBounds
from headrace.spark.source.options import source_options
from headrace.spark.source.ranges import OffsetRange
from headrace.spark.source.read import read_range

SAMPLE_ROWS = 100
_SOURCE_NAMES = {"kafka_offset": "offset", "timestamp_type": "timestampType"}
_RECORD = pa.schema([field for field in RAW if field.name != "decode_error"])
_SOURCE = pa.schema([pa.field(_SOURCE_NAMES.get(field.name, field.name), field.type) for field in _RECORD])
_TIME = _RECORD.get_field_index("timestamp")
# The years that have a name everywhere: a table's day is a date, and a date ends with the year 9999.
_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999


def read_records(kafka: Kafka, range: OffsetRange) -> Iterator[pa.RecordBatch]:
    """Committed records only. A task that runs again reads the same ones."""
    options = source_options(
        kafka.source_options() | {"subscribe": range.id.topic, "includeHeaders": "true"}, is_streaming=False
    )
    for rows in read_range(options, _SOURCE, range):
        columns = rows.columns
        columns[_TIME] = _datable(columns[_TIME])
        yield pa.RecordBatch.from_arrays(columns, schema=_RECORD)


def first_values(kafka: Kafka, view: TopicBounds) -> pa.Array:
    """Values of every partition, a few from its beginning."""
    samples = []
    for partition, start in view.start.items():
        limit = min(view.end[partition], start + SAMPLE_ROWS)
        range = OffsetRange(TopicPartition(view.topic, partition), start, limit)
        samples += [rows.column("value") for rows in read_records(kafka, range)]
    return pa.concat_arrays(samples) if samples else pa.array([], pa.binary())


def _datable(times: pa.Array) -> pa.Array:
    """A producer may stamp any number; one beyond all dates becomes the last date, or the first."""
    numbers = times.cast(pa.int64())
    ends = pc.min_max(numbers)
    if ends["min"].as_py() >= _FIRST_US and ends["max"].as_py() <= _LAST_US:
        return times
    inside = pc.min_element_wise(pc.max_element_wise(numbers, _FIRST_US), _LAST_US)
    return inside.cast(times.type)
