"""One task of the lake: a range of offsets into Parquet files, values decoded beside the raw columns.

A task decodes into the columns the table has. Fields that have none are reported; the driver then adds them and has the
batch read again, so that all files of a batch have one schema and no field is missing from the rows that brought it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from headrace.pipelines.columns import RAW, grown
from headrace.pipelines.day_files import DayFiles
from headrace.pipelines.kafka import Kafka
from headrace.pipelines.records import read_records
from headrace.pipelines.tables.table import FilePlace, TableFile
from headrace.pipelines.values import decoder_of
from headrace.spark.source.ranges import OffsetRange


class LakeWork(NamedTuple):
    """The same for every task of a batch."""

    kafka: Kafka
    place: FilePlace
    decode: str
    columns: pa.Schema


class WrittenFiles(NamedTuple):
    files: list[TableFile]
    rows: int
    undecoded: int
    columns: pa.Schema
    """The table's columns, and new ones that were seen."""


def write_range(work: LakeWork, range: OffsetRange) -> WrittenFiles:
    files = DayFiles(work.place, pa.schema([*RAW, *work.columns]))
    rows = undecoded = 0
    columns = work.columns
    for batch, seen in _decoded(work, read_records(work.kafka, range)):
        files.add(batch)
        rows += batch.num_rows
        undecoded += batch.num_rows - batch.column("decode_error").null_count
        columns = columns if seen is None else grown(columns, [seen])
    return WrittenFiles(files.close(), rows, undecoded, columns)


def _decoded(work: LakeWork, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[pa.RecordBatch, pa.Schema | None]]:
    decoder = decoder_of(work.decode, work.columns)
    schema = pa.schema([*RAW, *work.columns])
    for batch in batches:
        if decoder is None:
            yield _assembled(batch, schema, [], pa.nulls(batch.num_rows, pa.string())), None
            continue
        decoded = decoder.decode(batch.column("value"))
        yield _assembled(batch, schema, decoded.columns, decoded.errors), decoded.fields


def _assembled(batch: pa.RecordBatch, schema: pa.Schema, decoded: list[pa.Array], errors: pa.Array) -> pa.RecordBatch:
    raw = [batch.column(name) for name in RAW.names if name != "decode_error"]
    return pa.RecordBatch.from_arrays([*raw, errors, *decoded], schema=schema)
