"""Moments and durations as people write them."""

import re
from datetime import UTC, datetime

from headrace.base.units import DAY, HOUR, MINUTE

# Up to this many digits a number is seconds; nobody means a moment in January 1970 in ms.
_SECONDS_DIGITS_MAX = 10
_DURATION = re.compile(r"p?(?:(\d+)d)?t?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.IGNORECASE | re.ASCII)
_UNITS_MS = (DAY * 1000, HOUR * 1000, MINUTE * 1000, 1000)


def parse_time(text: str) -> int:
    """A moment in epoch ms, or ValueError. Without a zone, that of this machine is meant."""
    if text.isdecimal():
        return int(text) * 1000 if len(text) <= _SECONDS_DIGITS_MAX else int(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.astimezone()
    return round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1000)


def parse_duration(text: str) -> int:
    """A duration such as 90s, 15m, 2h30m, 7d or PT2H in ms, or ValueError."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise ValueError(f"{text!r} is no duration")
    return sum(int(count) * unit for count, unit in zip(found.groups(), _UNITS_MS, strict=True) if count)
