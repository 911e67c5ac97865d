"""A member of a group for a caller that speaks HTTP: it polls, commits and leaves; and it must come back in time."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from confluent_kafka import Message

from headrace.admin.groups import NewCommit
from headrace.base.ids import TopicPartition
from headrace.gateway.groups.reader import Busy, GroupReader
from headrace.gateway.problem import Problem, kafka_problem

COMMIT_SECONDS_MAX = 20.0
ENDED_FIX = "make a new session; the group goes on after its last commit"


class Polled(NamedTuple):
    number: int
    messages: list[Message]
    assigned: list[TopicPartition]
    revoked: list[TopicPartition]
    errors: list[str]
    rebalances: int


class GroupSession:
    def __init__(self, id: str, group: str, subscribed: list[str], idle_seconds: float, reader: GroupReader) -> None:
        self.id = id
        self.group = group
        self.subscribed = subscribed
        self.idle_seconds = idle_seconds
        self.reader = reader
        self._serving = 0
        self._is_polled = False
        self._number = 0
        self._last_used = time.monotonic()

    def __enter__(self) -> "GroupSession":
        """Counts a request that is being served; between two requests the session is idle."""
        self._serving += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._serving -= 1
        self._last_used = time.monotonic()

    @property
    def is_forgotten(self) -> bool:
        return not self._serving and time.monotonic() - self._last_used > self.idle_seconds

    @property
    def expires_in_seconds(self) -> float:
        return self.idle_seconds - (0 if self._serving else time.monotonic() - self._last_used)

    async def poll(self, count: int, bytes_max: int, wait_seconds: float, after: int | None = None) -> Polled:
        """The messages after poll number `after`; the last ones once more, if their reply was lost on its way."""
        if self._is_polled:
            raise Problem(
                409, "Session is in use", f"another poll of session {self.id} is going on", "poll one at a time"
            )
        self._is_polled = True
        try:
            with self:
                messages = self._again(after) or await self._next(count, bytes_max, wait_seconds)
                return self._reply(messages)
        finally:
            self._is_polled = False

    def _again(self, after: int | None) -> list[Message]:
        if after in (None, self._number):
            return []
        if after != self._number - 1:
            raise Problem(
                409,
                "Unknown poll",
                f"after={after}, but the last poll of session {self.id} was number {self._number}",
                f"give the number of the last reply: {self._number}, or {self._number - 1} to have it again",
            )
        return self.reader.last_taken

    async def _next(self, count: int, bytes_max: int, wait_seconds: float) -> list[Message]:
        await self.reader.until_arrived(wait_seconds)
        fatal = self.reader.fatal
        if fatal is not None:
            raise kafka_problem(fatal.code(), f"the session is at its end: {fatal.str()}")
        self._number += 1
        return self.reader.take(count, bytes_max)

    def _reply(self, messages: list[Message]) -> Polled:
        revoked, errors = self.reader.take_news()
        return Polled(self._number, messages, self.reader.assigned, revoked, errors, self.reader.rebalances)

    async def commit(self, places: Mapping[TopicPartition, NewCommit]) -> None:
        self._check_owned(places)
        with self:
            await self._commit(places)

    def _check_owned(self, places: Mapping[TopicPartition, NewCommit]) -> None:
        owned = set(self.reader.assigned)
        for id in places:
            if id not in owned:
                raise Problem(
                    409,
                    "Partition is not assigned",
                    f"{id} is not, or no longer, given to session {self.id}",
                    "commit only partitions in `assigned` of the last poll; who has it now reads on after its last commit",
                )

    async def _commit(self, places: Mapping[TopicPartition, NewCommit]) -> None:
        try:
            refused = await self.reader.commit(places, COMMIT_SECONDS_MAX)
        except Busy:
            raise _unanswered("an earlier commit has no answer yet") from None
        except TimeoutError:
            raise _unanswered(f"no coordinator answered within {COMMIT_SECONDS_MAX:g} s") from None
        for id, error in refused.items():
            raise kafka_problem(error.code(), f"{id} was not committed: {error.str()}")

    def view(self) -> dict[str, Any]:
        return {
            "session": self.id,
            "group": self.group,
            "subscribed": self.subscribed,
            "assigned": [id._asdict() for id in self.reader.assigned],
            "rebalances": self.reader.rebalances,
            "expires_in_ms": max(0, round(self.expires_in_seconds * 1000)),
        }


def _unanswered(detail: str) -> Problem:
    return Problem(
        503,
        "Commit not answered",
        detail,
        "commit again; what was stored already does no harm",
        headers={"Retry-After": "1"},
    )
