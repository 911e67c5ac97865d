"""Checks of values by JSON Schema or by an Avro schema: a valid one is given as a plain value, a bad one with its reason.

A check is made anew in every task from plain text. It never raises for a value: a bad one has a reason.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from headrace.base.errors import UserError

_REASON_CHARACTERS_MAX = 300


class Schema(NamedTuple):
    kind: str
    """json, avro or avro-framed."""
    text: str


class Verdict(NamedTuple):
    value: dict[str, Any] | None
    """The parsed object, where the value is one that JSON can hold."""
    reason: str | None


Check = Callable[[bytes | None], Verdict]


def read_schema(path: str | Path, kind: str) -> Schema:
    """UserError where the file is not there or is no schema of that kind."""
    try:
        text = Path(path).read_text()
        json.loads(text)
    except OSError as error:
        raise UserError(f"{path}: {(error.strerror or str(error)).lower()}", "check --schema") from None
    except ValueError as error:
        raise UserError(f"{path}: this is not JSON: {error}", "a schema is a JSON document") from None
    schema = Schema(kind, text)
    check_of(schema)
    return schema


def check_of(schema: Schema) -> Check:
    return _json_check(schema.text) if schema.kind == "json" else _avro_check(schema)


def _json_check(text: str) -> Check:
    try:
        import jsonschema_rs
    except ImportError:
        raise UserError("jsonschema-rs is not installed", "pip install 'headrace[spark]'") from None
    try:
        validator = jsonschema_rs.validator_for(json.loads(text))
    except (jsonschema_rs.ValidationError, ValueError) as error:
        raise UserError(f"this is no JSON Schema: {_first_line(error)}", "check --schema") from None

    def check(value: bytes | None) -> Verdict:
        try:
            parsed = json.loads(value if value is not None else b"null")
        except (ValueError, RecursionError) as error:
            return Verdict(None, _short(f"not JSON: {error}"))
        for misfit in validator.iter_errors(parsed):
            place = "/".join(map(str, misfit.instance_path))
            return Verdict(None, _short(f"{place or 'value'}: {misfit.message}"))
        return Verdict(parsed if isinstance(parsed, dict) else None, None)

    return check


def _avro_check(schema: Schema) -> Check:
    import pyarrow as pa

    from headrace.pipelines.avro_values import AvroValues, avro_columns

    avro_columns(schema.text)
    decoder = AvroValues(schema.text, pa.schema([]), framed=schema.kind == "avro-framed")

    def check(value: bytes | None) -> Verdict:
        if value is None:
            return Verdict(None, "null, which is no Avro record")
        return Verdict(None, decoder.reason_against(value))

    return check


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _short(text: str) -> str:
    return text if len(text) <= _REASON_CHARACTERS_MAX else text[: _REASON_CHARACTERS_MAX - 1] + "…"
