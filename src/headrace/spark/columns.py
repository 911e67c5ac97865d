"""The columns of a topic as Spark sees them, and which of them a reader may ask for with `.schema(…)`."""

from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.base.errors import UserError

_HEADERS = ArrayType(StructType([StructField("key", StringType()), StructField("value", BinaryType())]))
_TYPES: dict[str, DataType] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": _HEADERS,
}


def topic_schema(include_headers: bool) -> StructType:
    names = [name for name in _TYPES if include_headers or name != "headers"]
    return StructType([StructField(name, _TYPES[name]) for name in names])


def arrow_schema_of(schema: StructType) -> Any:
    """What Spark expects of a reader with this schema; UserError for a column that a topic does not have."""
    for field in schema.fields:
        _check(field)
    found: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return found


def _check(field: StructField) -> None:
    known = _TYPES.get(field.name)
    if known is None:
        raise UserError(f"a topic has no column {field.name}", f"it has {', '.join(_TYPES)}")
    is_text = field.name in ("key", "value") and isinstance(field.dataType, StringType)
    if not is_text and field.dataType.simpleString() != known.simpleString():
        or_string = " or string" if field.name in ("key", "value") else ""
        raise UserError(
            f"column {field.name} is not of type {field.dataType.simpleString()}",
            f"it is {known.simpleString()}{or_string}",
        )
