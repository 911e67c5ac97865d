"""Commits of a member: the messages of a loop's body are in hand, then finished, then stored for the next commit.

A message is committed after its body has ended and all that the body sent is stored, never before; or by a transaction,
together with what the transaction sent. No commit takes back a later one of the same member.
"""

from contextlib import suppress

from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.api.errors import DeliveryFailed, TransactionMisused, error_of
from headrace.api.finished import Batch, Finished
from headrace.api.group_member import GroupMember
from headrace.api.inbox import Inbox
from headrace.api.message import Message
from headrace.api.outputs import LoopOutput, Outputs
from headrace.api.positions import Places

# How long the end of a member, or of its hold on a partition, waits for what its bodies sent.
CLOSE_SECONDS, REVOKE_SECONDS = 60.0, 5.0


class MemberCommits:
    """`is_automatic` says whether librdkafka commits what is stored, by itself and from time to time."""

    def __init__(self, member: GroupMember, inbox: Inbox, outputs: Outputs, is_automatic: bool) -> None:
        self._member = member
        self._inbox = inbox
        self._outputs = outputs
        self._is_automatic = is_automatic
        self._sent_before: dict[LoopOutput, int] = {}
        self._finished = Finished(self._store)
        # What the next commit by itself would commit.
        self._stored: Places = {}
        self.is_in_transaction = False
        self.is_aborted = False

    # -- of a loop ---------------------------------------------------------------------------------------------------

    def hand_out(self) -> list[Message]:
        self._sent_before = self._outputs.numbers()
        return self._inbox.hand_out()

    def finish(self) -> None:
        """Notes that the body has ended that had the messages in hand."""
        self.check_no_transaction("the loop's next step")
        begin, end, self._inbox.in_hand = self._inbox.in_hand, self._inbox.places_to_commit(), {}
        self._finished.add(Batch(self._outputs.since(self._sent_before), begin, end))

    def store_finished(self) -> None:
        self._finished.store()

    def taken_back(self) -> Places:
        """Where to read again, so that all that no body has finished, or whose sends failed, comes again."""
        self.is_aborted = False
        return {**self._inbox.taken_back(), **self._finished.taken_back()}

    # -- of the program ----------------------------------------------------------------------------------------------

    def commit(self, message: Message) -> None:
        """Commits this message, and all before it in its partition, now."""
        self.check_no_transaction("commit_offset()")
        self._finished.store_within(CLOSE_SECONDS)
        after = message.offset + 1
        with self._member.turn:
            try:
                place = TopicPartition(message.topic, message.partition, after)
                self._member.consumer.commit(offsets=[place], asynchronous=False)
            except KafkaException as failure:
                raise error_of(failure, f"committing {message.place}") from None
            if self._stored.get(message.place_id, after) < after:
                self._store({message.place_id: after})  # the next commit by itself would go back to what it stored
            if self._inbox.in_hand.get(message.place_id, after) <= message.offset:
                del self._inbox.in_hand[message.place_id]

    def forget_stored(self, topic: str, partition: int) -> None:
        """Notes that the program has sought elsewhere: whatever is committed from here on comes after it."""
        if (topic, partition) in self._stored:
            self._stored[topic, partition] = 0

    # -- of a group --------------------------------------------------------------------------------------------------

    def on_leaving(self) -> None:
        self._finished.store_within(CLOSE_SECONDS)

    def on_gone(self, partitions: list[TopicPartition]) -> None:
        """Stores what can be committed of partitions that go to other members, and forgets the rest."""
        with suppress(DeliveryFailed):  # the loop raises it, and commits nothing of it
            self._finished.store_within(REVOKE_SECONDS)
        for each in partitions:
            self._finished.forget(each.topic, each.partition)
            self._stored.pop((each.topic, each.partition), None)

    # -- of a transaction --------------------------------------------------------------------------------------------

    def check_no_transaction(self, call: str) -> None:
        if self.is_in_transaction:
            raise TransactionMisused(
                f"{call} while a transaction of this consumer is open",
                "one batch, or one message, to a transaction: leave its block before the next",
            )

    def commit_finished(self) -> None:
        """Commits what was finished before a transaction: committed later, it would undo the transaction's commit."""
        self._finished.store_within(CLOSE_SECONDS)
        with self._member.turn:
            self._member.check_open()
            if not (self._stored and self._is_automatic):
                return
            try:
                self._member.consumer.commit(asynchronous=False)
            except KafkaException as failure:
                if failure.args[0].code() != KafkaError._NO_OFFSET:
                    raise error_of(failure, "committing what was finished before a transaction") from None

    def in_hand(self) -> list[TopicPartition]:
        """The places after what the loop's body has in hand."""
        return [TopicPartition(*id, at) for id, at in self._inbox.places_to_commit().items()]

    def on_committed(self) -> None:
        """The transaction has committed what is in hand: the loop has nothing left to commit."""
        places, self._inbox.in_hand = self._inbox.places_to_commit(), {}
        if self._stored:
            self._store(places)  # what it stored before would be committed once more, at its end, and undo this

    def on_aborted(self) -> None:
        """Notes that the messages in hand are to be read again, by a loop that goes on too."""
        self.is_aborted = True

    def _store(self, places: Places) -> None:
        with self._member.turn:
            self._member.check_open()
            for (topic, partition), offset in places.items():
                try:
                    self._member.consumer.store_offsets(offsets=[TopicPartition(topic, partition, offset)])
                except KafkaException:
                    continue  # the partition is another member's by now, which reads the message again
                self._stored[topic, partition] = offset
