"""Spark's types from text: `id bigint, tags array<string>, at timestamp`, or an Avro schema.

PySpark can parse the former only with a JVM at hand, and a data source is asked for its schema in a process without one.
"""

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headrace.base.errors import UserError

T = TypeVar("T")

_TOKEN = re.compile(r"\s*(`[^`]+`|\w+|[<>(),:])")
_SIMPLE: dict[str, type[DataType]] = {
    "string": StringType,
    "binary": BinaryType,
    "boolean": BooleanType,
    "tinyint": ByteType,
    "smallint": ShortType,
    "int": IntegerType,
    "integer": IntegerType,
    "bigint": LongType,
    "long": LongType,
    "float": FloatType,
    "double": DoubleType,
    "date": DateType,
    "timestamp": TimestampType,
}
_AVRO: dict[str, type[DataType]] = {
    "string": StringType,
    "bytes": BinaryType,
    "fixed": BinaryType,
    "enum": StringType,
    "boolean": BooleanType,
    "int": IntegerType,
    "long": LongType,
    "float": FloatType,
    "double": DoubleType,
}
_AVRO_LOGICAL: dict[str, type[DataType]] = {
    "timestamp-millis": TimestampType,
    "timestamp-micros": TimestampType,
    "date": DateType,
    "uuid": StringType,
}


def struct_from_text(text: str) -> StructType:
    parser = _Parser(text)
    struct = StructType(parser.fields())
    parser.end()
    return struct


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def fields(self) -> list[StructField]:
        fields = [self._field()]
        while self._take(","):
            fields.append(self._field())
        return fields

    def end(self) -> None:
        if self._text[self._at :].strip():
            raise self._wrong("the end")

    def _field(self) -> StructField:
        name = self._word("a column's name").strip("`")
        self._take(":")
        return StructField(name, self._type())

    def _type(self) -> DataType:
        name = self._word("a type").lower()
        if name == "array":
            return ArrayType(self._between("<", self._type))
        if name == "struct":
            return StructType(self._between("<", self.fields))
        if name == "map":
            return MapType(*self._between("<", lambda: self._two(self._type)))
        if name == "decimal":
            return DecimalType(*self._between("(", lambda: self._two(self._number)))
        if name not in _SIMPLE:
            self._at -= len(name)
            raise self._wrong(f"one of {', '.join((*_SIMPLE, 'array, struct, map, decimal'))}")
        return _SIMPLE[name]()

    def _between(self, bracket: str, inside: Any) -> Any:
        self._expect(bracket)
        found = inside()
        self._expect({"<": ">", "(": ")"}[bracket])
        return found

    def _two(self, each: Callable[[], T]) -> tuple[T, T]:
        first = each()
        self._expect(",")
        return first, each()

    def _number(self) -> int:
        word = self._word("a number")
        if not word.isdecimal():
            raise self._wrong("a number")
        return int(word)

    def _word(self, wanted: str) -> str:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found[1] in "<>(),:":
            raise self._wrong(wanted)
        self._at = found.end()
        return found[1]

    def _take(self, mark: str) -> bool:
        found = _TOKEN.match(self._text, self._at)
        if found is None or found[1] != mark:
            return False
        self._at = found.end()
        return True

    def _expect(self, mark: str) -> None:
        if not self._take(mark):
            raise self._wrong(mark)

    def _wrong(self, wanted: str) -> UserError:
        there = self._text[self._at :].strip()[:20] or "its end"
        return UserError(f"valueSchema: {wanted} was expected at {there!r}", "for example: id bigint, name string")


def struct_from_avro(text: str) -> StructType:
    try:
        schema = json.loads(text)
        if schema["type"] != "record":
            raise ValueError("it is not a record")
        return _avro_record(schema)
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"valueSchema is not an Avro schema: {error}", "give the JSON of a record's schema") from error


def _avro_record(schema: dict[str, Any]) -> StructType:
    return StructType([StructField(field["name"], _avro_type(field["type"])) for field in schema["fields"]])


def _avro_type(schema: Any) -> DataType:
    if isinstance(schema, str):
        if schema not in _AVRO:
            raise ValueError(f"the type {schema} is not supported")
        return _AVRO[schema]()
    if isinstance(schema, list):
        kinds = [kind for kind in schema if kind != "null"]
        if len(kinds) != 1:
            raise ValueError("a union may have null and one other type")
        return _avro_type(kinds[0])
    kind = schema["type"]
    if kind == "record":
        return _avro_record(schema)
    if kind == "array":
        return ArrayType(_avro_type(schema["items"]))
    if kind == "map":
        return MapType(StringType(), _avro_type(schema["values"]))
    if schema.get("logicalType") == "decimal":
        return DecimalType(schema["precision"], schema.get("scale", 0))
    if schema.get("logicalType") in _AVRO_LOGICAL:
        return _AVRO_LOGICAL[schema["logicalType"]]()
    return _avro_type(kind)
