"""The source of a courier: a topic or its dead letters, the group that reads it, and how a record becomes a letter."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from headrace.gateway.webhooks.letter import Letter, from_dead_letter
from headrace.gateway.webhooks.subscription import Subscription
from headrace.wire.records import Record


class Source(NamedTuple):
    topic: str
    group: str
    letter: Callable[[int, Record], Letter | None]
    """The letter of a record of that partition; None passes it over."""
    until: Mapping[int, int] | None = None
    """Where each partition ends; None for no end."""

    def ends_before(self, partition: int, offset: int) -> bool:
        return self.until is not None and offset >= self.until.get(partition, 0)


def topic_of(subscription: Subscription) -> Source:
    topic = subscription.topic
    return Source(topic, subscription.group, lambda partition, record: Letter(topic, partition, record))


def dead_letters_of(subscription: Subscription) -> Source:
    """The source of a redrive. Letters that were redriven before are passed over: the group that knew of them is gone."""

    def letter(partition: int, record: Record) -> Letter | None:
        is_done = record.offset < subscription.redriven.get(partition, 0)
        return None if is_done else from_dead_letter(record, subscription.id)

    return Source(subscription.dead_letter_topic, subscription.redrive_group, letter, subscription.redrive_until)
