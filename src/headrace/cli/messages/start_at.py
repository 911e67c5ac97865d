"""The place where `consume` begins, as written after --from.

earliest | latest | 1200 | -10 | @2026-01-31T12:00:00 | @1769860800000
                    offset  the last ten   the first message at or after a time
"""

from dataclasses import dataclass
from typing import Literal

from headrace.base.moments import parse_time
from headrace.cli.failure import ExitCode, Failure


@dataclass(frozen=True)
class StartAt:
    kind: Literal["earliest", "latest", "offset", "tail", "time"]
    number: int = 0

    @property
    def follows(self) -> bool:
        """Whether to wait for new messages: a read from the end has nothing else to show."""
        return self.kind == "latest"


def parse_start(text: str, option: str = "--from") -> StartAt:
    if text == "earliest":
        return StartAt("earliest")
    if text == "latest":
        return StartAt("latest")
    if text.isdecimal():
        return StartAt("offset", int(text))
    if text.startswith("-") and text[1:].isdecimal():
        return StartAt("tail", int(text[1:]))
    if text.startswith("@"):
        try:
            return StartAt("time", parse_time(text[1:]))
        except ValueError:
            raise _unreadable(text, option) from None
    raise _unreadable(text, option)


def _unreadable(text: str, option: str) -> Failure:
    return Failure(
        f"{option} {text}: this is no place in a topic",
        "give earliest, latest, an offset (1200), the last so many (-10), or a time (@2026-01-31T12:00 or @EPOCH_MS)",
        ExitCode.USAGE,
    )


def first_offset(start: StartAt, earliest: int, end: int, by_time: int | None) -> int:
    """Always inside what the partition holds, except an explicit offset: that one the broker may refuse."""
    match start.kind:
        case "earliest":
            return earliest
        case "latest":
            return end
        case "tail":
            return max(earliest, end - start.number)
        case "time":
            return end if by_time is None else by_time
        case "offset":
            return start.number
