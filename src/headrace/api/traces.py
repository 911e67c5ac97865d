"""OpenTelemetry's context in the headers of messages, when asked for: `traceparent`, as W3C writes it."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from headrace.api.errors import ApiError

if TYPE_CHECKING:
    from opentelemetry.context import Context

Carrier = dict[str, str | bytes | None]


def injector() -> Callable[[Carrier], None]:
    """Writes the current span's context into headers."""
    try:
        from opentelemetry import propagate
    except ImportError:
        raise _missing("traces=True") from None
    return propagate.inject


def context_in(headers: Iterable[tuple[str, bytes | None]]) -> "Context":
    """The context that a sender has put into headers; an empty one if none did."""
    try:
        from opentelemetry import propagate
        from opentelemetry.context import Context
    except ImportError:
        raise _missing("message.trace_context()") from None
    texts = {name: value.decode(errors="replace") for name, value in headers if value is not None}
    # An empty context: who reads is no part of the span in which the loop runs.
    return propagate.extract(texts, Context())


def _missing(what: str) -> ApiError:
    return ApiError(f"{what} needs OpenTelemetry", "pip install 'headrace[traces]'")
