"""Replies to tickets, and timers: what a decision of any event-sourced core asks of its shell, beside its records."""

from typing import Any, NamedTuple

TimerKey = tuple[str, ...]


class Reply(NamedTuple):
    """The answer to one ticket, to be sent when the decision is committed."""

    ticket: int
    response: Any


class Timer(NamedTuple):
    """A timer by its key: a later one replaces it, `at` None cancels it."""

    key: TimerKey
    at: float | None
