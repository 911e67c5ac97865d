"""OpenTelemetry's context in the headers of messages, when asked for: `traceparent`, as W3C writes it."""

from collections.abc import Callable

from headrace.api.errors import ApiError

Carrier = dict[str, str | bytes | None]


def injector() -> Callable[[Carrier], None]:
    """Writes the current span's context into headers."""
    try:
        from opentelemetry import propagate
    except ImportError:
        raise ApiError("traces=True needs OpenTelemetry", "pip install 'headrace[traces]'") from None
    return propagate.inject
