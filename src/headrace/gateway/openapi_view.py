"""An OpenAPI description as people read it: every operation with its parameters, bodies and replies. Pure.

    shape({"type": "object", "properties": {"name": {"type": "string"}}}, {}) → {
                                                                                  name?: string
                                                                                }

Shapes leave out limits and patterns, which /openapi.json has: a request that breaks one is told which.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headrace.gateway.problem import MEDIA_TYPE as PROBLEM

Schema = Mapping[str, Any]
Schemas = Mapping[str, Schema]

DEPTH_MAX = 8
_INDENT = "  "


class Parameter(NamedTuple):
    name: str
    place: str
    """path, query or header."""
    shape: str
    is_required: bool
    default: str
    text: str


class Content(NamedTuple):
    """A body or a reply in one of its media types."""

    status: str
    """The status of a reply."""
    media_type: str
    text: str
    shape: str


class RestOperation(NamedTuple):
    method: str
    path: str
    tag: str
    summary: str
    text: str
    parameters: Sequence[Parameter]
    bodies: Sequence[Content]
    replies: Sequence[Content]
    """The replies of an operation, without the problems that every operation may answer."""


def operations(description: Mapping[str, Any]) -> list[RestOperation]:
    schemas = description.get("components", {}).get("schemas", {})
    return [
        _operation(method.upper(), path, said, schemas)
        for path, methods in description["paths"].items()
        for method, said in methods.items()
    ]


def _operation(method: str, path: str, said: Mapping[str, Any], schemas: Schemas) -> RestOperation:
    replies = [reply for status, each in said["responses"].items() for reply in _contents(each, schemas, status)]
    return RestOperation(
        method,
        path,
        (said.get("tags") or ["other"])[0],
        said.get("summary", ""),
        _line(said.get("description", "")),
        [_parameter(each, schemas) for each in said.get("parameters", ())],
        list(_contents(said["requestBody"], schemas)) if "requestBody" in said else [],
        sorted(reply for reply in replies if reply.media_type != PROBLEM),
    )


def _parameter(said: Mapping[str, Any], schemas: Schemas) -> Parameter:
    schema = said.get("schema", {})
    default = json.dumps(schema["default"]) if schema.get("default") not in (None, "", []) else ""
    required, text = said.get("required", False), _line(said.get("description", ""))
    return Parameter(said["name"], said["in"], shape(schema, schemas), required, default, text)


def _contents(said: Mapping[str, Any], schemas: Schemas, status: str = "") -> Iterator[Content]:
    text = _line(said.get("description", ""))
    for media_type, content in said.get("content", {"": {}}).items():
        yield Content(status, media_type, text, shape(content["schema"], schemas) if content.get("schema") else "")


def shape(schema: Schema, schemas: Schemas, depth: int = 0) -> str:
    """How JSON of this schema looks; a name with ? may be missing."""
    if depth > DEPTH_MAX:
        return "…"
    if "$ref" in schema:
        return shape(schemas[schema["$ref"].rpartition("/")[2]], schemas, depth)
    if "anyOf" in schema:
        return _either(shape(each, schemas, depth) for each in schema["anyOf"])
    if "enum" in schema:
        return _either(json.dumps(each) for each in schema["enum"])
    kind = schema.get("type", "any JSON")
    if isinstance(kind, list):
        return _either(shape({**schema, "type": each}, schemas, depth) for each in kind)
    if kind == "array":
        return f"[{shape(schema.get('items', {}), schemas, depth)}, …]"
    return _object(schema, schemas, depth) if kind == "object" else str(kind)


def _object(schema: Schema, schemas: Schemas, depth: int) -> str:
    required = schema.get("required", ())
    fields = {name + ("" if name in required else "?"): each for name, each in schema.get("properties", {}).items()}
    if isinstance(schema.get("additionalProperties"), Mapping):
        fields["…"] = schema["additionalProperties"]
    if not fields:
        return "object"
    lines = [_field(name, each, schemas, depth + 1) for name, each in fields.items()]
    return "\n".join(["{", *lines, _INDENT * depth + "}"])


def _field(name: str, schema: Schema, schemas: Schemas, depth: int) -> str:
    first, *rest = shape(schema, schemas, depth).split("\n")
    remark = f"  // {_line(schema['description'])}" if schema.get("description") else ""
    return "\n".join([f"{_INDENT * depth}{name}: {first}{remark}", *rest])


def _either(shapes: Iterator[str]) -> str:
    return " | ".join(dict.fromkeys(shapes))


def _line(text: str) -> str:
    return " ".join(text.split())
