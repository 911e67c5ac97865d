"""A decision about one consumer group, in the making: its inputs, and its records and replies so far.

Its group has each record at once, since later steps of the decision build on it; the shell applies the records again after
their append. One that is not appended, or broken off, leaves the group ahead of the log: the shell drops the coordinator.
"""

from headrace.base.clock import Now
from headrace.base.outcome import Reply, Timer, TimerKey
from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.consumer.records import ConsumerRecord
from headrace.groups.outcome import GroupOutcome
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import Sight, Topics
from headrace.wire.schema import Response


class Decision:
    __slots__ = ("group", "now", "out", "settings", "sight", "topics")

    def __init__(
        self,
        group: ConsumerGroup,
        topics: Topics,
        settings: GroupSettings,
        now: Now,
        out: GroupOutcome,
        sight: Sight | None = None,
    ) -> None:
        """`sight` is that of the member that reports; None where none does."""
        self.group = group
        self.topics = topics
        self.settings = settings
        self.now = now
        self.out = out
        self.sight = sight

    def write(self, record: ConsumerRecord) -> None:
        self.out.records.append(record)
        self.group.apply(record)

    def reply(self, ticket: int, response: Response) -> None:
        self.out.replies.append(Reply(ticket, response))

    def set_timer(self, key: TimerKey, at: float | None) -> None:
        self.out.timers.append(Timer(key, at))
