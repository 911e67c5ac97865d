"""A decision about one consumer group, in the making: its inputs, and its records and replies so far.

    with table.decision(group, now, out) as decision: …

Later steps of a decision build on its earlier records, so its group has them until the decision ends. Then they are taken
back: nothing is applied before it is appended, and a decision that was broken off leaves no trace of them.
"""

from types import TracebackType

from headrace.base.clock import Now
from headrace.base.outcome import Reply, Timer, TimerKey
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.invariants import assert_consumer_follows, assert_one_owner
from headrace.groups.consumer.records import ConsumerRecord
from headrace.groups.outcome import GroupOutcome
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import Sight, Topics
from headrace.wire.schema import Response


class Decision:
    __slots__ = ("_former", "_is_whole", "group", "now", "out", "settings", "sight", "topics")

    def __init__(
        self,
        group: ConsumerGroup,
        topics: Topics,
        settings: GroupSettings,
        now: Now,
        out: GroupOutcome,
        sight: Sight | None = None,
        is_whole: bool = True,
    ) -> None:
        """`sight` is that of the member that reports, None where none does; `is_whole` as in `invariants`."""
        self.group = group
        self.topics = topics
        self.settings = settings
        self.now = now
        self.out = out
        self.sight = sight
        self._is_whole = is_whole
        self._former: list[ConsumerRecord] = []

    def __enter__(self) -> "Decision":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for record in reversed(self._former):
            self.group.apply(record)
        self._former.clear()

    def write(self, record: ConsumerRecord) -> None:
        self.out.records.append(record)
        self.assume(record)

    def assume(self, record: ConsumerRecord) -> None:
        """Lets the rest of the decision build on a record."""
        if self._is_whole:
            assert_consumer_follows(self.group, record)
            assert_one_owner(self.group, record)
        self._former.append(self.group.former(record))
        self.group.apply(record)

    def reply(self, ticket: int, response: Response) -> None:
        self.out.replies.append(Reply(ticket, response))

    def set_timer(self, key: TimerKey, at: float | None) -> None:
        self.out.timers.append(Timer(key, at))
