"""Errors as application/problem+json (RFC 9457): the cause in `detail`, what to do about it in `fix`.

Every error reply of the gateway is one of these, so a program can rely on `type` and `status`, and a person on the
sentences. A sentence never repeats a secret, and a fault of ours says nothing of our insides.
"""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from confluent_kafka import KafkaException
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.kafka_problems import NO_ANSWER, problem_words
from headrace.wire.batch import CorruptBatch

logger = logging.getLogger("headrace.gateway")

MEDIA_TYPE = "application/problem+json"
SHOWN_CHARACTERS_MAX = 1000
PROBLEM_REPLY: dict[str, Any] = {
    "description": "What went wrong (`detail`) and what to do about it (`fix`).",
    "content": {
        MEDIA_TYPE: {
            "schema": {
                "type": "object",
                "properties": {
                    "type": {"type": "string"},
                    "title": {"type": "string"},
                    "status": {"type": "integer"},
                    "detail": {"type": "string"},
                    "fix": {"type": "string"},
                },
                "required": ["type", "title", "status", "detail"],
            }
        }
    },
}
"""The error reply that every path may give, for OpenAPI."""


class Problem(Exception):
    """`also` are further members of the reply, such as the offsets that exist."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        fix: str = "",
        *,
        headers: Mapping[str, str] | None = None,
        also: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.title = title
        self.detail = detail
        self.fix = fix
        self.headers = dict(headers or {})
        self.also = dict(also or {})

    def fields(self) -> dict[str, object]:
        said = {
            "type": "urn:headrace:" + self.title.lower().replace(" ", "-"),
            "title": self.title,
            "status": self.status,
            "detail": self.detail[:SHOWN_CHARACTERS_MAX],
        }
        return {**said, **({"fix": self.fix} if self.fix else {}), **self.also}

    def response(self) -> Response:
        # An unpaired surrogate of a client's text has no UTF-8; it must not turn an error into another.
        try:
            body = orjson.dumps(self.fields())
        except TypeError:
            self.detail = self.detail.encode("utf-8", "replace").decode()
            body = orjson.dumps(self.fields(), default=str)
        return Response(body, self.status, self.headers, MEDIA_TYPE)


# What goes wrong outside of the gateway, or is asked wrongly. All that is left is a fault of ours.
EXPECTED = (Problem, Refused, Disconnected, KafkaException, CorruptBatch)


def kafka_problem(code: int, detail: str) -> Problem:
    """A broker's error code; `detail` says what was being done."""
    words = problem_words(code)
    headers = {"Retry-After": "1"} if words.status in (429, 503) else {}
    return Problem(words.status, words.title, detail, words.fix, headers=headers, also={"kafka_error": words.name})


def unreachable(detail: str) -> Problem:
    return Problem(NO_ANSWER.status, NO_ANSWER.title, detail, NO_ANSWER.fix, headers={"Retry-After": "1"})


def corrupt_batch(error: CorruptBatch, next_offset: int | None = None) -> Problem:
    """With where to go on behind it, if that is known."""
    fix = "`headrace log dump` on the broker looks closer"
    if next_offset is None:
        return Problem(500, "Corrupt batch", str(error), fix)
    also = {"next_offset": next_offset}
    return Problem(500, "Corrupt batch", str(error), f"{fix}; what is behind it begins at next_offset", also=also)


def problem_of(error: Exception) -> Problem:
    """The problem+json body for an expected error, one of EXPECTED."""
    match error:
        case Problem():
            return error
        case Refused():
            return kafka_problem(error.code, error.message or problem_words(error.code).sentence)
        case KafkaException():
            return kafka_problem(error.args[0].code(), error.args[0].str())
        case CorruptBatch():
            return corrupt_batch(error)
        case _:
            return unreachable(f"no broker answers: {error}")


def add_handlers(app: FastAPI) -> None:
    for expected in EXPECTED:
        app.add_exception_handler(expected, _on_expected)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, on_fault)


async def _on_expected(_: Request, error: Exception) -> Response:
    return problem_of(error).response()


async def _on_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError), error
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"])
    return Problem(422, "Invalid request", f"{where}: {first['msg']}", "see /docs for what is expected").response()


async def _on_http(_: Request, error: Exception) -> Response:
    """The reply to requests that the framework refuses by itself: unknown paths, wrong methods."""
    assert isinstance(error, HTTPException), error
    title = HTTPStatus(error.status_code).phrase
    detail = error.detail if error.detail != title else f"the gateway says: {title.lower()}"
    return Problem(error.status_code, title, detail, "see /docs for what there is", headers=error.headers).response()


async def on_fault(request: Request, error: Exception) -> Response:
    fields = {"request": f"{request.method} {request.url.path}", "peer": request.client and request.client.host}
    logger.error("%(request)s failed", fields, exc_info=error)
    return Problem(500, "Internal error", "the gateway hit a fault of its own", "its log says more").response()
