"""How numbers, sizes and moments are written for people. Pure; the browser is given the finished text."""

import time
from collections.abc import Iterable

_SIZES = ("B", "KB", "MB", "GB", "TB", "PB")
_COUNTS = ("", "k", "M", "G", "T")
NOTHING = "–"


def size(count: float | None) -> str:
    """Decimal units, three digits: 1.25 GB."""
    return NOTHING if count is None else _scaled(count, _SIZES)


def rate_of_bytes(per_second: float | None) -> str:
    return NOTHING if per_second is None else f"{_scaled(per_second, _SIZES)}/s"


def rate(per_second: float | None) -> str:
    return NOTHING if per_second is None else f"{_scaled(per_second, _COUNTS)}/s"


def count(number: float | None) -> str:
    """Exact, with thin groups, as long as a person can read it."""
    return NOTHING if number is None else f"{number:,.0f}".replace(",", "\u202f")


def short_count(number: float | None) -> str:
    return NOTHING if number is None else _scaled(number, _COUNTS)


def percent(share: float | None) -> str:
    return NOTHING if share is None else f"{share * 100:.0f} %"


def of(number: int, noun: str, plural: str = "") -> str:
    return f"{count(number)} {noun if number == 1 else plural or noun + 's'}"


def listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers)) or NOTHING


def moment(ms: int | None) -> str:
    """Local time of the gateway, to the millisecond."""
    if ms is None or ms < 0:
        return NOTHING
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(ms / 1000))}.{ms % 1000:03}"


def duration(seconds: float) -> str:
    for length, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def _scaled(number: float, units: tuple[str, ...]) -> str:
    step = 0
    # 999.5 would be written as 1e+03.
    while abs(number) >= 999.5 and step + 1 < len(units):
        number /= 1000
        step += 1
    digits = f"{number:.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"
    return f"{digits} {units[step]}" if units is _SIZES else f"{digits}{units[step]}"
