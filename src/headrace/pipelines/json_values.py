"""JSON values as columns of known types: Arrow's own parser for a whole batch, or row by row where it refuses.

A value that is no JSON object, or a field that does not fit its column, costs only itself: that row says why in its
error, and every other row is decoded as if it were not there. Fields without a column are reported with their types.
"""

import json
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from headrace.pipelines.columns import column_of, either, field_of, list_of
from headrace.spark.values.value_bytes import json_table

_ERROR_CHARACTERS_MAX = 200
_INT64 = range(-(2**63), 2**63)


class Decoded(NamedTuple):
    columns: list[pa.Array]
    errors: pa.Array
    fields: pa.Schema  # all that were seen, under the names of their columns


class JsonValues:
    def __init__(self, columns: pa.Schema) -> None:
        self.columns = columns
        self._fields = pa.schema([pa.field(field_of(column.name), column.type) for column in columns])

    def decode(self, values: pa.Array) -> Decoded:
        objects = pc.fill_null(values, b"{}")
        try:
            table = self._parse(objects)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            return self._decode_rows(values.to_pylist())
        columns = [shaped(_one(table[field.name]), field.type) for field in self._fields]
        seen = pa.schema([pa.field(column_of(field.name), field.type) for field in table.schema])
        return Decoded(columns, pa.nulls(len(values), pa.string()), seen)

    def _parse(self, objects: pa.Array) -> pa.Table:
        """One object a line; a value that is none is refused."""
        lines = pc.replace_substring(objects.cast(pa.string()), "\n", " ")
        trimmed = pc.ascii_trim_whitespace(lines)
        if not pc.all(pc.and_(pc.starts_with(trimmed, "{"), pc.ends_with(trimmed, "}"))).as_py():
            raise pa.ArrowInvalid("a value is no JSON object")
        offsets = pa.array([0, len(lines)], pa.int32())
        text = pc.binary_join(pa.ListArray.from_arrays(offsets, lines), "\n")[0].as_buffer()
        return json_table(text, len(objects), self._fields, "infer")

    def _decode_rows(self, values: Sequence[bytes | None]) -> Decoded:
        rows: list[dict[str, Any]] = []
        errors: list[str | None] = []
        others: list[dict[str, Any]] = []
        for value in values:
            row, error, other = self._decode_row(value)
            rows.append(row)
            errors.append(error)
            others.append(other)
        columns = [pa.array([row.get(field.name) for row in rows], field.type) for field in self._fields]
        return Decoded(columns, pa.array(errors, pa.string()), _types_of(others))

    def _decode_row(self, value: bytes | None) -> tuple[dict[str, Any], str | None, dict[str, Any]]:
        try:
            parsed = {} if value is None else json.loads(value)
        except (ValueError, RecursionError) as error:
            return {}, _short(f"not JSON: {error}"), {}
        if not isinstance(parsed, dict):
            return {}, f"not a JSON object but {_kind(parsed)}", {}
        misfits: list[str] = []
        row = {f.name: fitted(parsed.get(f.name), f.type, f.name, misfits.append) for f in self._fields}
        return row, _short("; ".join(misfits)) if misfits else None, parsed


def fitted(value: Any, type_: pa.DataType, path: str, on_misfit: Callable[[str], None]) -> Any:
    """The value as the type wants it; None, and a word about it, if it is something else."""
    if value is None:
        return None
    if pa.types.is_string(type_):
        return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if pa.types.is_struct(type_) and isinstance(value, dict):
        return {f.name: fitted(value.get(f.name), f.type, f"{path}.{f.name}", on_misfit) for f in type_}
    if pa.types.is_list(type_) and isinstance(value, list):
        return [fitted(each, type_.value_type, f"{path}[]", on_misfit) for each in value]
    if pa.types.is_boolean(type_) and isinstance(value, bool):
        return value
    if pa.types.is_integer(type_) and type(value) is int and value in _INT64:
        return value
    if pa.types.is_floating(type_) and type(value) in (int, float):
        return float(value)
    on_misfit(f"{path}: {_kind(value)}, but the column is {type_}")
    return None


def shaped(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """The same values under the type of their column: without the nested fields it does not have."""
    if array.type == type_:
        return array
    if pa.types.is_struct(type_):
        children = dict(zip([field.name for field in array.type], array.flatten(), strict=True))
        parts = [
            shaped(children[f.name], f.type) if f.name in children else pa.nulls(len(array), f.type) for f in type_
        ]
        return pa.StructArray.from_arrays(parts, fields=list(type_), mask=array.is_null())
    if pa.types.is_list(type_):
        # Null lists may not share their offsets with values, so they are told apart by the offsets themselves.
        return pa.ListArray.from_arrays(
            array.offsets, shaped(array.values, type_.value_type), type_, mask=array.is_null()
        )
    return array.cast(type_)


def _types_of(rows: list[dict[str, Any]]) -> pa.Schema:
    fields = reduce(either, map(type_of, rows), pa.struct([]))
    return pa.schema([pa.field(column_of(field.name), field.type) for field in fields])


def type_of(value: Any) -> pa.DataType:
    """The type that Arrow's parser would infer."""
    match value:
        case None:
            return pa.null()
        case bool():
            return pa.bool_()
        case int():
            return pa.int64() if value in _INT64 else pa.float64()
        case float():
            return pa.float64()
        case dict():
            return pa.struct([pa.field(name, type_of(each)) for name, each in value.items()])
        case list():
            return list_of(reduce(either, map(type_of, value), pa.null()))
        case _:
            return pa.string()


def _one(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", int: "a number", float: "a number"}
    return names.get(type(value), "null")


def _short(text: str) -> str:
    return text if len(text) <= _ERROR_CHARACTERS_MAX else text[: _ERROR_CHARACTERS_MAX - 1] + "…"
