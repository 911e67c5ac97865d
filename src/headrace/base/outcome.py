"""The decision of an event-sourced core, for its shell to carry out: records, replies to tickets, and timers.

The shell appends `records` as one batch, applies each of them, sets the timers, and sends the replies when the high
watermark has reached the end of the log as it was after the append. What a core decides beside these is its own kind of
outcome: `groups.outcome`, `txns.outcome`.
"""

from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

R = TypeVar("R")

TimerKey = tuple[str, ...]


class Reply(NamedTuple):
    """The answer to one ticket, to be sent when the decision is committed."""

    ticket: int
    response: Any


class Timer(NamedTuple):
    """A timer by its key: a later one replaces it, `at` None cancels it."""

    key: TimerKey
    at: float | None


@dataclass(slots=True)
class Outcome(Generic[R]):
    records: list[R] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
