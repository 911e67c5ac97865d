"""The columns of a topic as Spark sees them, and which of them a reader may ask for with `.schema(…)`.

With `valueFormat` the fields of the values are columns too, and `valueError` says what is wrong with a value that has none
(unless those go to a dead-letter topic).
"""

from collections.abc import Mapping

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
from headrace.spark.source.options import SourceOptions
from headrace.spark.values.type_text import struct_from_avro, struct_from_text

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


VALUE_ERROR = "valueError"


def schema_of(options: SourceOptions) -> StructType:
    """All columns that a reader with these options can have."""
    fields = [StructField(name, type) for name, type in _TYPES.items() if options.include_headers or name != "headers"]
    values = value_fields(options)
    for field in values:
        if field.name in _TYPES or field.name == VALUE_ERROR:
            raise UserError(f"valueSchema has a field {field.name}, which is a column already", "read it from value")
    fields += values
    if values and not options.dead_letter_topic:
        fields.append(StructField(VALUE_ERROR, StringType()))
    return StructType(fields)


def value_fields(options: SourceOptions) -> list[StructField]:
    if options.value_format == "none":
        if options.value_schema or options.dead_letter_topic:
            raise UserError("valueSchema and deadLetterTopic need a valueFormat", "set valueFormat to json or avro")
        return []
    if not options.value_schema:
        raise UserError(
            f"valueFormat={options.value_format} needs a valueSchema", "for example: id bigint, name string"
        )
    parse = struct_from_text if options.value_format == "json" else struct_from_avro
    return list(parse(options.value_schema).fields)


def is_of_topic(name: str) -> bool:
    """Whether the column comes with the record, rather than out of its value."""
    return name in _TYPES


def arrow_schema_of(schema: StructType) -> pa.Schema:
    """The Arrow schema that Spark expects of a reader with this schema."""
    return to_arrow_schema(schema, timezone="UTC")


def check_schema(options: SourceOptions, schema: StructType) -> None:
    """UserError for a column that there is not."""
    known = {field.name: field.dataType for field in schema_of(options)} | {"headers": _HEADERS}
    for field in schema.fields:
        _check(field, known)


def _check(field: StructField, known: Mapping[str, DataType]) -> None:
    if field.name not in known:
        raise UserError(f"a topic has no column {field.name}", f"it has {', '.join(known)}")
    type, asked = known[field.name].simpleString(), field.dataType.simpleString()
    is_text = field.name in ("key", "value") and asked == "string"
    if not is_text and asked != type:
        or_string = " or string" if field.name in ("key", "value") else ""
        raise UserError(f"column {field.name} is not of type {asked}", f"it is {type}{or_string}")
