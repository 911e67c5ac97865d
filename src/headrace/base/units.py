"""Amounts as people write and read them: `1M/s`, `50MB/s`, `1KB`, `7d`; and back again. Decimal: a kilobyte is 1,000 bytes.

The binary names (KiB, MiB, …) are understood too, in any case. Moments and composed durations (`2h30m`) are `moments`.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final

MINUTE: Final = 60
HOUR: Final = 3600
DAY: Final = 86_400

_NUMBER = re.compile(r"\s*([0-9][0-9_,]*(?:\.[0-9]+)?)\s*(.*?)\s*")
_COUNTS = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "m": 1e6, "G": 1e9, "B": 1e9}
_BYTES = {"": 1, "b": 1} | {
    unit: base**power
    for base, names in ((1000, ("{}b", "{}")), (1024, ("{}ib",)))
    for power, letter in enumerate("kmgtp", 1)
    for unit in (name.format(letter) for name in names)
}
_SECONDS = {"s": 1, "m": MINUTE, "min": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY, "y": 365 * DAY}
_PER = {"": 1, "s": 1, "sec": 1, "m": MINUTE, "min": MINUTE, "h": HOUR, "hour": HOUR, "d": DAY, "day": DAY}


def parse_rate(text: str) -> float:
    """`1M/s`, `500k`, `2.5M/min`: how many a second."""
    amount, _, per = text.partition("/")
    return _parse(amount, _COUNTS, "a rate such as 1M/s or 500k/min") / _unit(per.strip(), _PER, "/s, /min, /h or /d")


def parse_bytes(text: str) -> float:
    return _parse(text, _BYTES, "a size such as 1KB, 512B or 16TB", str.lower)


def parse_byte_rate(text: str) -> float:
    """`50MB/s`, `1048576`: how many a second."""
    return parse_bytes(re.sub(r"/s\s*$", "", text))


def parse_seconds(text: str) -> float:
    return _parse(text, _SECONDS, "a time such as 7d, 12h or 30min")


def parse_bits_per_second(text: str) -> float:
    """A network card's `25Gb/s`, in bytes a second."""
    amount = re.sub(r"b(it)?(/s|ps)$", "", text.strip())
    return _parse(amount, _COUNTS, "a line rate such as 25Gb/s") / 8


def _parse(text: str, units: Mapping[str, float], example: str, spelled: Callable[[str], str] = str) -> float:
    found = _NUMBER.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not {example}")
    number = float(found[1].replace(",", "").replace("_", ""))
    value = number * _unit(spelled(found[2]), units, example)
    if not 0 < value < float("inf"):
        raise ValueError(f"{text!r} must be more than nothing")
    return value


def _unit(name: str, units: Mapping[str, float], example: str) -> float:
    if name not in units:
        raise ValueError(f"{name!r} is no unit here; write {example}")
    return units[name]


def bytes_text(count: float) -> str:
    """A size for plans and the UI: 1.81 PB."""
    return _scaled(count, ("B", "KB", "MB", "GB", "TB", "PB", "EB"))


def size_text(count: float) -> str:
    """A size for the command line: 1.5 kB, 123 MB."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def count_text(count: float) -> str:
    return _scaled(count, ("", "k", "M", "G", "T")).strip()


def seconds_text(seconds: float) -> str:
    for unit, length in (("days", DAY), ("hours", HOUR), ("minutes", MINUTE)):
        if seconds >= 2 * length:
            return f"{_short(seconds / length)} {unit}"
    return f"{_short(seconds)} s"


def _scaled(count: float, units: tuple[str, ...]) -> str:
    place = 0
    while abs(count) >= 999.5 and place < len(units) - 1:
        count /= 1000
        place += 1
    return f"{_short(count)} {units[place]}"


def _short(number: float) -> str:
    """Three digits, as far as they say something: 0.63, 3, 86.4, 1,814."""
    return f"{number:,.0f}" if abs(number) >= 99.95 else f"{number:.3g}"
