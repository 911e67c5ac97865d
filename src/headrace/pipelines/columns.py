"""The columns of a lake table: those of the record, always, and beside them what its value holds once decoded.

A table's columns only ever grow. A decoded field gets a column when it is first seen, of the type it was seen with; types
that contradict each other become text (JSON). A field that cannot be a column (a name that engines cannot tell from
another, or one too many) stays in the raw value, where nothing is ever lost.
"""

import re
from collections.abc import Iterable

import pyarrow as pa

HEADERS = pa.list_(pa.field("element", pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])))
RAW = pa.schema(
    [
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("headers", HEADERS),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        # `offset` alone is a reserved word in DuckDB, and in much of SQL.
        pa.field("kafka_offset", pa.int64()),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestamp_type", pa.int32()),
        pa.field("decode_error", pa.string()),
    ]
)
NOT_DECODED = {*RAW.names, "day"}
FIELDS_MAX = 1_000
NESTING_MAX = 8
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")


def column_of(field: str) -> str:
    """A field of the value that is called like a column of the record is kept apart from it."""
    return f"value_{field}" if field.lower() in NOT_DECODED else field


def field_of(column: str) -> str:
    return column.removeprefix("value_") if column.removeprefix("value_").lower() in NOT_DECODED else column


def grown(known: pa.Schema, seen: Iterable[pa.Schema]) -> pa.Schema:
    """`known` and what was seen beyond it. Known fields keep their types, structs gain fields."""
    fields: dict[str, pa.Field] = {}
    for schema in seen:
        for field in schema:
            before = fields[field.name].type if field.name in fields else pa.null()
            fields[field.name] = pa.field(field.name, either(before, _stored(field.type)))
    return pa.schema(_grown_fields(list(known), list(fields.values()), depth=0))


def _grown_fields(known: list[pa.Field], seen: list[pa.Field], depth: int) -> list[pa.Field]:
    fields = {field.name: field for field in known}
    spelled = {field.name.lower() for field in known}
    for field in seen:
        if field.name in fields:
            type_ = _grown_type(fields[field.name].type, field.type, depth)
            fields[field.name] = pa.field(field.name, type_)
        elif _can_be_column(field, spelled) and len(fields) < FIELDS_MAX and depth < NESTING_MAX:
            fields[field.name] = pa.field(field.name, _grown_type(_empty(field.type), field.type, depth))
            spelled.add(field.name.lower())
    return [field for field in fields.values() if not _is_unknown(field.type)]


def _grown_type(known: pa.DataType, seen: pa.DataType, depth: int) -> pa.DataType:
    if pa.types.is_struct(known) and pa.types.is_struct(seen):
        return pa.struct(_grown_fields(list(known), list(seen), depth + 1))
    if pa.types.is_list(known) and pa.types.is_list(seen):
        return list_of(_grown_type(known.value_type, seen.value_type, depth))
    return seen if _is_unknown(known) else known


def list_of(element: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", element))


def _empty(type_: pa.DataType) -> pa.DataType:
    """A nested type before any of its fields has been looked at."""
    if pa.types.is_struct(type_):
        return pa.struct([])
    return list_of(_empty(type_.value_type)) if pa.types.is_list(type_) else type_


def _can_be_column(field: pa.Field, spelled: set[str]) -> bool:
    return bool(_NAME.fullmatch(field.name)) and field.name.lower() not in spelled and not _is_unknown(field.type)


def _is_unknown(type_: pa.DataType) -> bool:
    """Nothing but nulls, empty lists or empty objects was seen: no engine stores such a column."""
    if pa.types.is_list(type_):
        return _is_unknown(type_.value_type)
    return pa.types.is_null(type_) or (pa.types.is_struct(type_) and not any(not _is_unknown(f.type) for f in type_))


def _stored(type_: pa.DataType) -> pa.DataType:
    """Arrow's JSON reader takes some texts for times; whether all of a field's are, no batch can tell: they stay text."""
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _stored(field.type)) for field in type_])
    if pa.types.is_list(type_):
        return list_of(_stored(type_.value_type))
    return pa.string() if pa.types.is_temporal(type_) else type_


def either(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds values of both."""
    if one == other or _is_unknown(other):
        return one
    if _is_unknown(one):
        return other
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        fields = {field.name: field.type for field in one}
        for field in other:
            fields[field.name] = either(fields.get(field.name, pa.null()), field.type)
        return pa.struct([pa.field(name, type_) for name, type_ in fields.items()])
    if pa.types.is_list(one) and pa.types.is_list(other):
        return list_of(either(one.value_type, other.value_type))
    return pa.float64() if {one, other} == {pa.int64(), pa.float64()} else pa.string()
