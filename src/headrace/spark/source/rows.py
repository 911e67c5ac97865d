"""Rows of a range: the records, and with `valueFormat` the fields of their values beside them.

A value that does not parse is a row without fields and with a reason; with `deadLetterTopic` it is no row, but a record
there, as it was, with the reason and its origin in headers. That is done before the rows around it are handed on, so a
task that runs again may write it again, and none is lost.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructType

from headrace.spark.source.columns import VALUE_ERROR, arrow_schema_of, is_of_topic, schema_of, value_fields
from headrace.spark.source.options import SourceOptions
from headrace.spark.source.ranges import OffsetRange
from headrace.spark.source.read import read_range


def read_rows(options: SourceOptions, schema: StructType, whole: OffsetRange) -> Iterator[pa.RecordBatch]:
    if options.value_format == "none":
        return read_range(options, arrow_schema_of(schema), whole)
    return _read_values(options, schema, whole)


def _read_values(options: SourceOptions, schema: StructType, whole: OffsetRange) -> Iterator[pa.RecordBatch]:
    from headrace.spark.source.dead_letters import send_dead_letters
    from headrace.spark.values.parse import value_parser

    wanted = arrow_schema_of(schema)
    parser = value_parser(
        options.value_format, options.value_schema, arrow_schema_of(StructType(value_fields(options)))
    )
    for records in read_range(options, _records_schema(options, schema), whole):
        parsed = parser.parse(records.column("value").to_pylist())
        reasons = pa.array(parsed.reasons, pa.string())
        if options.dead_letter_topic and reasons.null_count < len(reasons):
            send_dead_letters(options, whole.id, records.filter(reasons.is_valid()), reasons.drop_null().to_pylist())
            keep = reasons.is_null()
            records, rows = records.filter(keep), parsed.rows.filter(keep)
        else:
            rows = parsed.rows
        yield pa.RecordBatch.from_arrays([_column(field, records, rows, reasons) for field in wanted], schema=wanted)


def _records_schema(options: SourceOptions, schema: StructType) -> pa.Schema:
    """The record's own columns that are asked for, all if it may become a dead letter; its value in any case."""
    asked = {field.name for field in schema.fields if is_of_topic(field.name)} | {"value"}
    if options.dead_letter_topic:
        asked |= {"key", "offset", "timestamp", "headers"}
    every = schema_of(options._replace(include_headers=True))
    return arrow_schema_of(
        StructType([field for field in every.fields if field.name in asked and is_of_topic(field.name)])
    )


def _column(field: pa.Field, records: pa.RecordBatch, rows: pa.RecordBatch, reasons: pa.Array) -> Any:
    if field.name == VALUE_ERROR:
        return reasons
    source = records if is_of_topic(field.name) else rows
    column = source.column(field.name)
    return column if column.type == field.type else column.cast(field.type)
