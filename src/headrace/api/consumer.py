"""A member of a consumer group: `for message in consumer` commits a message when its body has finished, never before.

At least once: a message is finished when the loop asks for the next one. A body that raises, a `break`, a process that dies
leave it unfinished: the next loop, or the next member, reads it again. Finished messages are committed every second, when
partitions move to another member, and on close. Only this thread's polls let a rebalance happen, so no partition is taken
away within a body unless the body takes longer than max.poll.interval.ms. What a body sent with a producer of the same
client is stored before its message is committed, whether or not the body waited for it.

Other threads may close a consumer, pause it or seek; one thread at a time reads.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self

from headrace.api.checks import check_name
from headrace.api.errors import ApiError
from headrace.api.loop import Loop
from headrace.api.message import Message
from headrace.api.options import kafka_config
from headrace.api.outputs import Outputs
from headrace.api.positions import Seek
from headrace.api.reader import MemberReader
from headrace.api.seeking import places_for

DEFAULTS = {"enable.auto.commit": True, "auto.commit.interval.ms": 1000, "auto.offset.reset": "earliest"}
# Ours: what is stored for the next commit is what the loop has finished.
FIXED = {"enable.auto.offset.store": False}


class Consumer:
    """`reader` and `commits` do the work, and are no part of the API."""

    def __init__(
        self,
        group: str,
        topics: Sequence[str],
        config: Mapping[str, object],
        stopping: threading.Event | None = None,
        outputs: Outputs | None = None,
    ) -> None:
        if not topics:
            raise ApiError(f"the group {group} is to read no topic", "name one or more: join_group(group, 'orders')")
        self.group = check_name("group", group, 'join_group("billing", "orders")')
        names = [check_name("topic", each, 'join_group("billing", "orders", "returns")') for each in topics]
        settings = kafka_config(DEFAULTS, config, {"group.id": group}, FIXED)
        self.reader = MemberReader(group, names, settings, stopping or threading.Event(), outputs or Outputs())
        self.commits = self.reader.commits

    def __iter__(self) -> Iterator[Message]:
        return self.messages()

    def messages(self, idle_seconds: float | None = None) -> Iterator[Message]:
        """One by one, without end; with `idle_seconds`, until none has come for so long to a member of the group."""
        for (message,) in self.batches(1, 0.0, idle_seconds):
            yield message

    def batches(
        self, messages_max: int = 500, wait_seconds: float = 0.5, idle_seconds: float | None = None
    ) -> Iterator[list[Message]]:
        """Lists of at least one message, each committed as a whole when its body has finished."""
        reader = self.reader
        loop = Loop(reader, messages_max, wait_seconds, idle_seconds)
        while not loop.is_over:
            if batch := reader.unbroken(loop.ready) or reader.unbroken(loop.poll):
                yield batch
                reader.unbroken(loop.finish)

    def commit_offset(self, message: Message) -> None:
        """Commits this message, and all before it in its partition, now: for a loop that ends with `break`."""
        if not isinstance(message, Message):
            raise ApiError(f"{message!r} is no message", "pass one that the loop gave")
        self.reader.member.check_open()
        self.commits.commit(message)

    def seek(self, to: Seek, topic: str | None = None, partition: int | None = None) -> None:
        """Goes on elsewhere: an offset, a time, "earliest" or "latest", in all partitions it has or in those named."""
        member = self.reader.member
        member.check_open()
        self.commits.check_no_transaction("seek()")
        with member.turn:
            for place in places_for(to, self.reader.chosen(topic, partition), member.consumer):
                member.consumer.seek(place)
                self.reader.inbox.forget(place.topic, place.partition)
                self.commits.forget_stored(place.topic, place.partition)

    def pause(self, topic: str | None = None, partition: int | None = None) -> None:
        """Holds back the messages of these partitions until `resume`; the loop stays a member and waits."""
        member = self.reader.member
        with member.turn:
            chosen = self.reader.chosen(topic, partition)
            member.consumer.pause(chosen)
            member.go_back(self.reader.inbox.returned({(each.topic, each.partition) for each in chosen}))

    def resume(self, topic: str | None = None, partition: int | None = None) -> None:
        member = self.reader.member
        with member.turn:
            member.consumer.resume(self.reader.chosen(topic, partition))

    @property
    def assignment(self) -> list[tuple[str, int]]:
        """The partitions that this member reads now."""
        return sorted((each.topic, each.partition) for each in self.reader.member.assigned)

    @property
    def is_closed(self) -> bool:
        return self.reader.member.is_closed

    def close(self) -> None:
        """Commits what is finished and leaves the group. A second close does nothing."""
        self.reader.member.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
