"""Bytes of values read as JSON and Avro, for the Spark source (`values.parse`) and the pipelines (`pipelines.values`).

The two differ in what a value that does not fit costs: a row of the source is then null with a reason, a row of a table
lacks that one field, and columns may be added. How bytes become values is here, once.
"""

import io
import json
from typing import Any

import pyarrow as pa
import pyarrow.json


def json_table(lines: pa.Buffer, count: int, fields: pa.Schema, unexpected: str) -> pa.Table:
    """Rows of so many objects, one a line. Raises where a line holds several: rows must never slip against each other."""
    table = pyarrow.json.read_json(
        pa.BufferReader(lines),
        read_options=pyarrow.json.ReadOptions(use_threads=False, block_size=lines.size + 1),
        parse_options=pyarrow.json.ParseOptions(explicit_schema=fields, unexpected_field_behavior=unexpected),
    )
    if table.num_rows != count:
        raise pa.ArrowInvalid(f"{table.num_rows} JSON objects in {'one value' if count == 1 else f'{count} values'}")
    return table


class AvroReader:
    """Values of one writer's schema; whatever fastavro raises for a schema or a value is for the caller to word."""

    def __init__(self, schema_text: str) -> None:
        import fastavro

        self.schema: Any = fastavro.parse_schema(json.loads(schema_text))
        self._read = fastavro.schemaless_reader

    def read(self, value: bytes, start: int = 0) -> tuple[Any, int]:
        """The record that begins at `start`, and how many bytes lie behind it."""
        stream = io.BytesIO(value)
        stream.seek(start)
        record = self._read(stream, self.schema, None)
        return record, len(value) - stream.tell()
