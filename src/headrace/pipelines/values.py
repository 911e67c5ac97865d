"""The decoding of a topic's values: not at all, as JSON objects, or by an Avro schema. A table keeps to one of them.

The choice is a text that travels and is stored with the table: `none`, `json`, or `avro:` (`avro-framed:`) and the schema.
"""

import json
from pathlib import Path
from typing import Literal, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from headrace.base.errors import UserError
from headrace.pipelines.columns import grown
from headrace.pipelines.json_values import Decoded, JsonValues

Decode = Literal["auto", "none", "json", "avro", "avro-framed"]
# Of the values looked at, so many must be JSON objects for `auto` to choose it.
_MOST = 0.9


class ValueDecoder(Protocol):
    columns: pa.Schema

    def decode(self, values: pa.Array) -> Decoded: ...


def decoder_of(decode: str, columns: pa.Schema) -> ValueDecoder | None:
    kind, _, schema = decode.partition(":")
    if kind == "none":
        return None
    if kind == "json":
        return JsonValues(columns)
    from headrace.pipelines.avro_values import AvroValues

    return AvroValues(schema, columns, framed=kind == "avro-framed")


def first_columns(decode: str, sample: pa.Array) -> pa.Schema:
    """The columns known before the table has its first record."""
    kind, _, schema = decode.partition(":")
    if kind == "none":
        return pa.schema([])
    if kind == "json":
        return grown(pa.schema([]), [JsonValues(pa.schema([])).decode(sample).fields])
    from headrace.pipelines.avro_values import avro_columns

    return avro_columns(schema)


def chosen(decode: Decode, schema_file: str | Path | None, sample: pa.Array) -> str:
    """`auto` looks at the first values of the topic."""
    if decode in ("avro", "avro-framed"):
        if schema_file is None:
            raise UserError("Avro values cannot be read without their schema", "name its file with --schema FILE")
        return f"{decode}:{_avro_text(Path(schema_file))}"
    if schema_file is not None:
        raise UserError("--schema is the Avro schema of the values", "use it with --decode avro")
    if decode == "auto":
        return "json" if _is_mostly_json(sample) else "none"
    return decode


def _is_mostly_json(sample: pa.Array) -> bool:
    values = pc.drop_null(sample)
    if not len(values):
        return False
    undecoded = len(values) - JsonValues(pa.schema([])).decode(values).errors.null_count
    return bool(undecoded <= (1 - _MOST) * len(values))


def _avro_text(path: Path) -> str:
    try:
        return json.dumps(json.loads(path.read_text()))
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or str(error)).lower()}", "check --schema") from None
    except ValueError as error:
        raise UserError(f"{path}: not JSON, and so no Avro schema: {error}", "check --schema") from None
