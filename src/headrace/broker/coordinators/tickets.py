"""Questions to one coordinator that are not answered yet, each by its ticket; and the commands that wait for its log."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from headrace.base.outcome import Reply

NO_TICKET = 0


class Unanswered(NamedTuple):
    """A question that is not answered yet."""

    request: Any
    version: int
    answer: Callable[[Any], None]


class Tickets:
    def __init__(self) -> None:
        self._unanswered: dict[int, Unanswered] = {}
        self._held: dict[int, Any] = {}
        self._newest = NO_TICKET

    def take(self, question: Unanswered) -> int:
        self._newest += 1
        self._unanswered[self._newest] = question
        return self._newest

    def withdraw(self, ticket: int) -> None:
        self._unanswered.pop(ticket, None)
        self._held.pop(ticket, None)

    def hold(self, command: Any) -> None:
        """Keeps a command until the log is read: librdkafka, once refused, comes back only after three seconds."""
        self._held[command.ticket] = command

    def take_held(self) -> list[Any]:
        held, self._held = self._held, {}
        return list(held.values())

    def are_open(self, replies: Iterable[Reply]) -> bool:
        """Whether somebody waits for one of these."""
        return any(reply.ticket in self._unanswered for reply in replies)

    def answer(self, replies: Iterable[Reply]) -> None:
        for reply in replies:
            question = self._unanswered.pop(reply.ticket, None)
            if question is not None:
                question.answer(reply.response)

    def answer_all(self, response_of: Callable[[Unanswered], Any]) -> None:
        unanswered, self._unanswered = self._unanswered, {}
        for question in unanswered.values():
            question.answer(response_of(question))
