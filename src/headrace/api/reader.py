"""Messages of a member as its loops take them: read ahead, grown to batches, handed out, and read again if unfinished."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from confluent_kafka import TopicPartition

from headrace.api.commits import MemberCommits
from headrace.api.errors import ApiError
from headrace.api.events import is_event
from headrace.api.group_member import GroupMember
from headrace.api.inbox import Inbox
from headrace.api.message import message_of
from headrace.api.outputs import Outputs
from headrace.api.seeking import ASK_SECONDS, places_for

POLL_SECONDS = 0.1
OUTAGE_ASK_SECONDS = 5.0
# Messages are read ahead by so many.
AHEAD_MAX = 500
Result = TypeVar("Result")


class MemberReader:
    """`loop` is the loop that reads now; an earlier one is refused."""

    def __init__(
        self,
        group: str,
        topics: Sequence[str],
        settings: Mapping[str, object],
        stopping: threading.Event,
        outputs: Outputs,
    ) -> None:
        self._stopping = stopping
        self.inbox = Inbox()
        self.member = GroupMember(group, topics, settings, self._on_gone, self._on_leaving)
        is_automatic = str(settings["enable.auto.commit"]).lower() == "true"
        self.commits = MemberCommits(self.member, self.inbox, outputs, is_automatic)
        self.loop: object = None
        self._is_torn = False

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def read_more(self, seconds: float) -> None:
        """Waits for one message, if none waits already, and takes those that lie ready behind it."""
        with self.member.reading():
            first = self.member.consumer.consume(1, 0 if self.inbox.waiting else seconds)
            # Not `waiting.extend(consume())`: a rebalance within the call may put another deque in its place.
            self.inbox.waiting.extend(first)
            if first and (room := AHEAD_MAX - len(self.inbox.waiting)) > 0:
                more = self.member.consumer.consume(room, 0)
                self.inbox.waiting.extend(more)
        self.commits.store_finished()

    def grow(self, messages_max: int) -> None:
        """Moves messages that wait to the batch that grows; raises what the cluster said in between."""
        while self.inbox.waiting and len(self.inbox.growing) < messages_max:
            read = self.inbox.waiting.popleft()
            if not is_event(read, self.member.group):
                self.inbox.growing.append(message_of(read))

    def read_unfinished_again(self) -> None:
        self.commits.check_no_transaction("a new loop")
        if self._is_torn:
            self.inbox.clear()
            self.member.join_again()
            self._is_torn = False
        back = self.commits.taken_back()
        for topic, partition in back:
            self.inbox.forget(topic, partition)
        self.member.go_back(back)

    def unbroken(self, step: Callable[[], Result]) -> Result:
        """Notes an interrupt amid a step, as of Ctrl-C: what the step had in its hands is lost."""
        try:
            return step()
        except ApiError:
            raise
        except BaseException:
            self._is_torn = True
            raise

    def outage(self) -> ApiError | None:
        """Why the leaders of this member's partitions cannot say whether there is more."""
        with self.member.turn:
            consumer = self.member.consumer
            try:
                places_for(datetime.now(UTC), consumer.assignment(), consumer, OUTAGE_ASK_SECONDS)
            except ApiError as failure:
                cause = f"{self.member.group} has read nothing more, and no broker says that there is no more"
                return ApiError(f"{cause}: {failure.cause}", failure.fix, failure.kafka)
        return None

    def is_assigned_soon(self) -> bool:
        """Whether this member has partitions; waits POLL_SECONDS for them."""
        if self.member.assigned:
            return True
        self.read_more(POLL_SECONDS)
        return bool(self.member.assigned)

    def chosen(self, topic: str | None, partition: int | None) -> list[TopicPartition]:
        """The partitions that a call means, of those that this member has; waits until it has some."""
        deadline = time.monotonic() + ASK_SECONDS
        while not self.is_assigned_soon():
            if time.monotonic() > deadline:
                raise no_partition(self.member.group)
        assigned = self.member.assigned
        chosen = [each for each in assigned if topic in (None, each.topic) and partition in (None, each.partition)]
        if not chosen:
            raise ApiError(f"this member does not read {topic}, partition {partition}", "see consumer.assignment")
        return chosen

    def _on_gone(self, partitions: list[TopicPartition]) -> None:
        self.commits.on_gone(partitions)
        for each in partitions:
            self.inbox.forget(each.topic, each.partition)

    def _on_leaving(self) -> None:
        self.commits.on_leaving()


def no_partition(group: str) -> ApiError:
    return ApiError(f"{group} gave this member no partition", "its topics have fewer than it has members")
