"""Checks of arguments, made when they are given: librdkafka takes wrong ones, and ends the process at some."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from headrace.api.errors import ApiError

Headers = Mapping[str, str | bytes | None] | Sequence[tuple[str, str | bytes | None]]
Pairs = list[tuple[str, str | bytes | None]]


def check_name(kind: str, value: object, example: str) -> str:
    """A name of a topic, group or client: text that is not empty."""
    if not isinstance(value, str) or not value:
        raise ApiError(f"{value!r} is no name of a {kind}", f"pass text: {example}")
    return value


def check_bootstrap(value: object) -> str:
    text = check_name("broker", value, '"127.0.0.1:9092", or several with commas')
    if "://" in text:
        raise ApiError(f"{text!r} is no address of a broker", 'leave out what comes before the host: "127.0.0.1:9092"')
    return text


def check_partition(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ApiError(f"{value!r} is no partition", "pass its number, from 0, or leave partition= out")
    return value


def check_timestamp(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        hint = "int(when.timestamp() * 1000)" if isinstance(value, datetime) else "int(time.time() * 1000)"
        raise ApiError(f"timestamp_ms is {value!r}", f"pass milliseconds since 1970: {hint}")
    return value


def check_whole(option: str, value: object, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ApiError(f"{option} is {value!r}", f"pass a whole number from {least}")
    return value


def header_pairs(headers: Headers | None) -> Pairs:
    """The pairs of a mapping, or pairs as `Message.headers` has them: a name may come more than once."""
    given = headers.items() if isinstance(headers, Mapping) else headers or ()
    try:
        pairs = [(name, value) for name, value in given]
    except (TypeError, ValueError):
        raise _no_headers(headers) from None
    for name, value in pairs:
        if not isinstance(name, str) or not isinstance(value, str | bytes | None):
            raise _no_headers({name: value})
    return pairs


def _no_headers(headers: object) -> ApiError:
    return ApiError(
        f"{headers!r} are no headers", 'pass {"name": "text or bytes"}, or pairs as message.headers has them'
    )
