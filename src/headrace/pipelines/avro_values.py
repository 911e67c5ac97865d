"""Avro values as columns, by the writer's schema. Plain Avro, or framed as schema registries do (0, id, value).

The columns are those of the schema, known before the first record; a value that is not of it says so and costs only itself.
A union of several types becomes text (JSON). Not done here: asking a registry which schema an id stands for.
"""

import json
from typing import Any

import pyarrow as pa

from headrace.base.errors import UserError
from headrace.pipelines.columns import column_of, list_of
from headrace.pipelines.json_values import Decoded
from headrace.spark.values.value_bytes import AvroReader

FRAME_BYTES = 5
_ERROR_CHARACTERS_MAX = 200
_TYPES = {
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "fixed": pa.binary(),
    "string": pa.string(),
    "enum": pa.string(),
}
_LOGICAL = {
    "date": pa.date32(),
    "timestamp-millis": pa.timestamp("us", tz="UTC"),
    "timestamp-micros": pa.timestamp("us", tz="UTC"),
    "uuid": pa.string(),
}


class AvroValues:
    def __init__(self, schema: str, columns: pa.Schema, framed: bool) -> None:
        self._reader = AvroReader(schema)
        self.columns = columns
        self._known = avro_columns(schema)
        self._names = {column_of(field["name"]): field["name"] for field in self._reader.schema["fields"]}
        self._skip = FRAME_BYTES if framed else 0

    def decode(self, values: pa.Array) -> Decoded:
        rows, errors = [], []
        for value in values.to_pylist():
            row, error = self._decode_row(value)
            rows.append(row)
            errors.append(error)
        arrays = [self._column(field, rows) for field in self.columns]
        return Decoded(arrays, pa.array(errors, pa.string()), self._known)

    def reason_against(self, value: bytes) -> str | None:
        """The reason why a value is not of this schema; None if it is."""
        return self._decode_row(value)[1]

    def _decode_row(self, value: bytes | None) -> tuple[dict[str, Any], str | None]:
        if value is None:
            return {}, None
        if self._skip and (len(value) < self._skip or value[0]):
            return {}, "not framed by a schema registry: the first byte is not 0"
        try:
            row, left = self._reader.read(value, self._skip)
        except Exception as error:  # of any kind: fastavro reads what it finds, and fails where that leads it
            return {}, f"not Avro of this schema: {type(error).__name__}: {error}"[:_ERROR_CHARACTERS_MAX]
        if left:
            return {}, "not Avro of this schema: there are bytes behind its end"
        return row, None

    def _column(self, field: pa.Field, rows: list[dict[str, Any]]) -> pa.Array:
        name = self._names.get(field.name, "")
        return pa.array([_plain(row.get(name), field.type) for row in rows], field.type)


def avro_columns(schema: str) -> pa.Schema:
    try:
        parsed = AvroReader(schema).schema
    except Exception as error:  # fastavro's own, and KeyError and others from deep inside
        raise UserError(f"the Avro schema cannot be read: {error}", "check --schema") from None
    if not isinstance(parsed, dict) or parsed.get("type") != "record":
        raise UserError("the Avro schema is not that of a record", "columns are a record's fields; check --schema")
    named: dict[str, Any] = {}
    fields = _fields(parsed, named)
    return pa.schema([pa.field(column_of(field.name), field.type) for field in fields])


def _fields(record: dict[str, Any], named: dict[str, Any]) -> list[pa.Field]:
    named[record["name"]] = record
    return [pa.field(field["name"], _type(field["type"], named)) for field in record["fields"]]


def _type(avro: Any, named: dict[str, Any]) -> pa.DataType:
    if isinstance(avro, list):
        some = [each for each in avro if each != "null"]
        return _type(some[0], named) if len(some) == 1 else pa.string()
    if isinstance(avro, str):
        return _type(named[avro], named) if avro in named else _TYPES.get(avro, pa.string())
    if avro.get("logicalType") == "decimal":
        return pa.decimal128(min(avro["precision"], 38), avro.get("scale", 0))
    if avro.get("logicalType") in _LOGICAL:
        return _LOGICAL[avro["logicalType"]]
    match avro["type"]:
        case "record":
            return pa.struct(_fields(avro, named))
        case "array":
            return list_of(_type(avro["items"], named))
        case "map":
            return pa.map_(pa.string(), _type(avro["values"], named))
        case "enum" | "fixed" as kind:
            named[avro["name"]] = avro
            return _TYPES[kind]
        case inner:
            return _type(inner, named)


def _plain(value: Any, type_: pa.DataType) -> Any:
    """The value as Arrow takes it: text where the column has no type for it, pairs for a map."""
    if value is None:
        return None
    if pa.types.is_string(type_):
        return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    if pa.types.is_struct(type_):
        return {field.name: _plain(value.get(field.name), field.type) for field in type_}
    if pa.types.is_list(type_):
        return [_plain(each, type_.value_type) for each in value]
    if pa.types.is_map(type_):
        return [(key, _plain(each, type_.item_type)) for key, each in value.items()]
    return value
