"""The subscriptions in JoinGroup and assignments in SyncGroup of classic consumers, by topic name.

A classic group hands these on unopened. They are opened where the coordinator assigns for such members: in a consumer
group that has members of both protocols, and when a group changes from one to the other.
"""

from collections.abc import Iterable
from struct import Struct as Layout
from struct import error as StructError
from typing import NamedTuple

from headrace.base.errors import PeerError
from headrace.groups.partitions import Part, Parts, by_topic
from headrace.groups.topics import Topics
from headrace.wire.codec import decode, encoded
from headrace.wire.messages.embedded import (
    EMBEDDED_VERSION_MAX,
    EmbeddedAssignment,
    EmbeddedPartitions,
    EmbeddedSubscription,
)

_VERSION = Layout(">h")


class Subscription(NamedTuple):
    topics: tuple[str, ...]
    owned: Parts
    """The partitions that the member has now. A member that gives up everything before it joins names none."""
    rack_id: str | None


def read_subscription(data: bytes, topics: Topics) -> Subscription:
    """The subscription in these bytes; raises PeerError when they are none."""
    said = decode(EmbeddedSubscription, min(_version(data), EMBEDDED_VERSION_MAX), data, _VERSION.size)
    return Subscription(tuple(sorted(set(said.topics))), _parts(said.owned_partitions, topics), said.rack_id)


def read_assignment(data: bytes, topics: Topics) -> Parts:
    said = decode(EmbeddedAssignment, min(_version(data), EMBEDDED_VERSION_MAX), data, _VERSION.size)
    return _parts(said.assigned_partitions, topics)


def write_assignment(parts: Iterable[Part], topics: Topics, subscription: bytes) -> bytes:
    """An assignment in the member's version. Topics that are gone have no name, and nobody to read them."""
    version = min(_version(subscription), EMBEDDED_VERSION_MAX)
    named = {topics.names[each]: numbers for each, numbers in by_topic(parts).items() if each in topics.names}
    assigned = [EmbeddedPartitions(topic, numbers) for topic, numbers in sorted(named.items())]
    return _VERSION.pack(version) + encoded(EmbeddedAssignment(assigned), version)


def _parts(named: Iterable[EmbeddedPartitions], topics: Topics) -> Parts:
    return frozenset(
        (topics.by_name[each.topic].id, number)
        for each in named
        if each.topic in topics.by_name
        for number in each.partitions
    )


def _version(data: bytes) -> int:
    try:
        version: int = _VERSION.unpack_from(data)[0]
    except StructError:
        raise PeerError("it is too short for a subscription or an assignment") from None
    if version < 0:
        raise PeerError(f"there is no version {version} of subscriptions and assignments")
    return version
