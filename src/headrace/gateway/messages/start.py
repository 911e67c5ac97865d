"""The place where a reader wants to begin: an offset, a word, or a time; as it is written in a query."""

from datetime import UTC, datetime

from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.gateway.problem import Problem

_WORDS = {"earliest": EARLIEST, "latest": LATEST}
_OFFSET_MAX = 2**63 - 1


class Start:
    """`offset`, or what to ask the broker for it (`at`)."""

    def __init__(self, offset: int | None, at: int = EARLIEST) -> None:
        self.offset = offset
        self.at = at


def parse_start(offset: str | None, time: str | None) -> Start:
    if offset and time:
        raise Problem(422, "Invalid start", "both offset and time are given", "name one of them")
    if time:
        return Start(None, parse_time(time))
    if not offset:
        return Start(None)
    if offset in _WORDS:
        return Start(None, _WORDS[offset])
    if not (offset.isascii() and offset.isdecimal()) or len(offset) > 19 or int(offset) > _OFFSET_MAX:
        raise Problem(
            422, "Invalid start", f"offset {offset:.40} is none", "use a whole number from 0, earliest or latest"
        )
    return Start(int(offset))


def parse_time(text: str) -> int:
    """Milliseconds since 1970, or ISO 8601; without a zone it is UTC."""
    if text.isascii() and text.isdecimal() and len(text) <= 15:
        return int(text)
    try:
        # "+" of a zone is a space once a query is decoded.
        moment = datetime.fromisoformat(text.replace(" ", "+") if "T" in text else text)
        return max(0, int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000))
    except (ValueError, OverflowError):
        raise Problem(
            422, "Invalid start", f"time {text:.40} is none", "use milliseconds, or such as 2026-11-15T09:30:00Z"
        ) from None
