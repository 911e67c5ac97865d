"""Messages that the bodies of loops sent: a batch is committed after all that its body sent is stored.

A body that sends and does not wait would otherwise be committed while its output is only in a queue, and a crash between the
two would lose it. A producer numbers what it takes; a span is the numbers that it took while a body ran.
"""

from typing import NamedTuple, Protocol


class LoopOutput(Protocol):
    """The part of a producer that is used here."""

    @property
    def last_number(self) -> int: ...

    @property
    def is_closed(self) -> bool: ...

    def is_stored(self, after: int, to: int) -> bool:
        """Whether these are answered; raises DeliveryFailed for a failure that the program has not asked for."""
        ...

    def flush(self, seconds: float) -> int:
        """Sends what lingers, and waits for it; the number of messages that are left unanswered."""
        ...


class Span(NamedTuple):
    outlet: LoopOutput
    after: int
    to: int


class Outputs:
    """The producers of one client; not transactional ones, whose blocks end when all is stored."""

    def __init__(self) -> None:
        self._outlets: list[LoopOutput] = []

    def add(self, outlet: LoopOutput) -> None:
        self._outlets = [each for each in self._outlets if not each.is_closed] + [outlet]

    def numbers(self) -> dict[LoopOutput, int]:
        return {each: each.last_number for each in self._outlets}

    def since(self, before: dict[LoopOutput, int]) -> list[Span]:
        """The spans of messages taken since `before` was noted."""
        now = self.numbers()
        return [Span(each, before.get(each, 0), to) for each, to in now.items() if to > before.get(each, 0)]


def are_stored(spans: list[Span]) -> bool:
    return all(each.outlet.is_stored(each.after, each.to) for each in spans)
