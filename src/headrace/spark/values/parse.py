"""Values as columns: JSON or Avro by a schema, many at a time; what does not parse is told apart, with the reason.

Arrow makes the columns, in one call for a whole batch. Where that fails, the batch is halved until the values that it
stumbles over stand alone. Missing fields are null, fields that the schema does not have are left out.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from headrace.base.errors import UserError
from headrace.spark.values.value_bytes import AvroReader, json_table


class Parsed(NamedTuple):
    rows: pa.RecordBatch
    """One row for each value; null in every column where there was no value, or none that parses."""
    reasons: list[str | None]
    """Why not, for those that do not parse."""


class ValueParser(Protocol):
    def parse(self, values: list[bytes | None]) -> Parsed: ...


def value_parser(format: str, schema_text: str, schema: pa.Schema) -> ValueParser:
    return JsonRows(schema) if format == "json" else AvroRows(schema_text, schema)


class JsonRows:
    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema

    def parse(self, values: list[bytes | None]) -> Parsed:
        reasons: list[str | None] = [None] * len(values)
        lines: dict[int, bytes] = {}
        for i, value in enumerate(values):
            if value is not None:
                # Between the braces of one object a line break is no more than a space, so lines keep apart.
                line = value.strip().replace(b"\n", b" ").replace(b"\r", b" ")
                if not (line.startswith(b"{") and line.endswith(b"}")):
                    reasons[i] = "not a JSON object"
                elif not _is_text(line):
                    reasons[i] = "not UTF-8"
                else:
                    lines[i] = line
        good = _by_halves(list(lines), lambda places: self._read([lines[place] for place in places]), reasons)
        return Parsed(_spread(self._schema, good, len(values)), reasons)

    def _read(self, lines: list[bytes]) -> pa.RecordBatch:
        table = json_table(pa.py_buffer(b"\n".join(lines)), len(lines), self._schema, "ignore")
        columns = [table.column(name).combine_chunks() for name in self._schema.names]
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)


class AvroRows:
    def __init__(self, schema_text: str, schema: pa.Schema) -> None:
        self._schema = schema
        try:
            self._reader = AvroReader(schema_text)
        except Exception as error:
            raise UserError(
                f"valueSchema is not an Avro schema: {error}", "give the JSON of a record's schema"
            ) from error

    def parse(self, values: list[bytes | None]) -> Parsed:
        reasons: list[str | None] = [None] * len(values)
        records: dict[int, Any] = {}
        for i, value in enumerate(values):
            if value is not None:
                try:
                    records[i] = self._record(value)
                except Exception as error:  # a decoder of other people's bytes raises whatever it likes
                    reasons[i] = _reason(error)
        good = _by_halves(list(records), lambda places: self._rows([records[place] for place in places]), reasons)
        return Parsed(_spread(self._schema, good, len(values)), reasons)

    def _record(self, value: bytes) -> Any:
        record, left = self._reader.read(value)
        if left:
            raise ValueError(f"{left} bytes are left over")
        return record

    def _rows(self, records: list[Any]) -> pa.RecordBatch:
        return pa.RecordBatch.from_pylist(records, schema=self._schema)


def _by_halves(
    places: list[int], read: Callable[[list[int]], pa.RecordBatch], reasons: list[str | None]
) -> list[tuple[list[int], pa.RecordBatch]]:
    """Batches of the values that can be read, with their places. A value that cannot be read gets a reason, and costs
    no other its row.
    """
    if not places:
        return []
    try:
        return [(places, read(places))]
    except Exception as error:  # Arrow's own, and Python's where a value does not fit its column
        if len(places) == 1:
            reasons[places[0]] = _reason(error)
            return []
    half = len(places) // 2
    return _by_halves(places[:half], read, reasons) + _by_halves(places[half:], read, reasons)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, pa.ArrowInvalid) else f"{type(error).__name__}: {error}"


def _is_text(line: bytes) -> bool:
    """Arrow takes the bytes of a string at their word."""
    try:
        return line.isascii() or bool(line.decode())
    except UnicodeDecodeError:
        return False


def _spread(schema: pa.Schema, good: list[tuple[list[int], pa.RecordBatch]], count: int) -> pa.RecordBatch:
    """The rows at their places, null between them."""
    rows = pa.Table.from_batches([batch for _, batch in good], schema)
    if rows.num_rows < count:
        at: list[int | None] = [None] * count
        for row, place in enumerate(place for places, _ in good for place in places):
            at[place] = row
        rows = rows.combine_chunks().take(pa.array(at, pa.int64()))
    return pa.RecordBatch.from_arrays([column.combine_chunks() for column in rows.columns], schema=schema)
