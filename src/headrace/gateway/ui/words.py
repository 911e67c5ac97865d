"""Numbers, sizes and moments as they are written for people. Pure; the browser is given the finished text."""

import time
from collections.abc import Iterable

from headrace.base.units import bytes_text, count_text

NOTHING = "–"


def size(count: float | None) -> str:
    """Decimal units, three digits: 1.25 GB."""
    return NOTHING if count is None else bytes_text(count)


def rate_of_bytes(per_second: float | None) -> str:
    return NOTHING if per_second is None else f"{bytes_text(per_second)}/s"


def rate(per_second: float | None) -> str:
    return NOTHING if per_second is None else f"{short_count(per_second)}/s"


def count(number: float | None) -> str:
    """Exact, with thin groups, as long as a person can read it."""
    return NOTHING if number is None else f"{number:,.0f}".replace(",", "\u202f")


def short_count(number: float | None) -> str:
    return NOTHING if number is None else count_text(number).replace(" ", "")


def of(number: int, noun: str, plural: str = "") -> str:
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or NOTHING


def moment(ms: int | None) -> str:
    """Local time of the gateway, to the millisecond."""
    if ms is None or ms < 0:
        return NOTHING
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(ms / 1000))}.{ms % 1000:03}"
