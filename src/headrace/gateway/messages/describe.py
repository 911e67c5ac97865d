"""The OpenAPI description of the message paths: the handler of POST reads JSON itself, so its body is described by hand."""

from typing import Any

from headrace.gateway.messages.incoming import ENCODINGS, INCOMING_TIMESTAMP_MAX, PARTITION_MAX
from headrace.gateway.messages.store import ACKS
from headrace.gateway.problem import PROBLEM_REPLY

_ENCODING = {"type": "string", "enum": list(ENCODINGS)}
_OFFSET = {"type": "integer", "minimum": 0}
_HEADER_VALUE = {
    "anyOf": [
        {"type": "string"},
        {"type": "null"},
        {
            "type": "object",
            "properties": {"base64": {"type": "string", "contentEncoding": "base64"}},
            "required": ["base64"],
            "additionalProperties": False,
        },
    ]
}
_HEADERS = {
    "description": "An object, or pairs where a name repeats.",
    "anyOf": [
        {"type": "object", "additionalProperties": _HEADER_VALUE},
        {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}},
        {"type": "null"},
    ],
}
_MESSAGE_FIELDS: dict[str, Any] = {
    "value": {"description": "Text; any other JSON is stored as JSON; null makes a tombstone."},
    "key": {"description": "As the value."},
    "headers": _HEADERS,
    "partition": {"type": ["integer", "null"], "minimum": 0, "maximum": PARTITION_MAX},
    "timestamp": {"type": ["integer", "null"], "minimum": 0, "maximum": INCOMING_TIMESTAMP_MAX},
    "encoding": {**_ENCODING, "description": "How the value is written; by its type if not given."},
    "key_encoding": _ENCODING,
}
_MESSAGE = {
    "type": "object",
    "properties": _MESSAGE_FIELDS,
    "required": ["value"],
    "additionalProperties": False,
}
_ACKS = {"type": "string", "enum": list(ACKS)}
_BATCH = {
    "type": "object",
    "properties": {"messages": {"type": "array", "items": _MESSAGE, "minItems": 1}, "acks": _ACKS},
    "required": ["messages"],
    "additionalProperties": False,
}
_PLACE = {
    "type": "object",
    "properties": {"partition": _OFFSET, "offset": _OFFSET, "timestamp": {"type": "integer"}},
    "required": ["partition", "offset"],
}
_PLACES = {
    "type": "object",
    "properties": {
        "messages": {
            "type": "array",
            "items": {"anyOf": [_PLACE, {"type": "object", "required": ["error"]}]},
        }
    },
    "required": ["messages"],
}
_STREAMED = {
    "type": "object",
    "properties": {"stored": _OFFSET, "partitions": {"type": "object"}},
    "required": ["stored", "partitions"],
}
_RECORD = {
    "type": "object",
    "properties": {
        "offset": _OFFSET,
        "key": {},
        "value": {},
        "timestamp": {"type": "integer"},
        "headers": _HEADERS,
        "encoding": {"enum": ["json", "base64"]},
        "key_encoding": {"enum": ["json", "base64"]},
    },
    "required": ["offset", "key", "value", "timestamp", "headers"],
}
_PAGE = {
    "type": "object",
    "properties": {
        "messages": {"type": "array", "items": _RECORD},
        "next_offset": {**_OFFSET, "description": "Where to go on reading."},
        "high_watermark": _OFFSET,
        "log_start_offset": _OFFSET,
    },
    "required": ["messages", "next_offset", "high_watermark", "log_start_offset"],
}


def _reply(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


POST: dict[str, Any] = {
    "responses": {
        200: _reply("All are stored, in this order.", {"anyOf": [_PLACE, _PLACES, _STREAMED]}),
        207: _reply("Some are stored; what became of each.", _PLACES),
        "default": PROBLEM_REPLY,
    },
    "openapi_extra": {
        "parameters": [
            {
                "name": "acks",
                "in": "query",
                "schema": {**_ACKS, "default": "all"},
                "description": "Who must have it: the leader, all in-sync replicas, or these where they are a majority.",
            },
            {
                "name": "Idempotency-Key",
                "in": "header",
                "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
                "description": "The same POST with the same key within 10 minutes stores once.",
            },
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {
                        "anyOf": [
                            {**_MESSAGE, "properties": {**_MESSAGE_FIELDS, "acks": _ACKS}},
                            _BATCH,
                            {"type": "array", "items": _MESSAGE, "minItems": 1},
                        ]
                    }
                },
                "application/x-ndjson": {"schema": {"type": "string", "description": "One message on each line."}},
            },
        },
    },
}

GET: dict[str, Any] = {
    "responses": {
        200: {
            "description": "The messages from there on.",
            "content": {
                "application/json": {"schema": _PAGE},
                "application/x-ndjson": {"schema": {"type": "string", "description": "One message on each line."}},
            },
        },
        "default": PROBLEM_REPLY,
    },
}
