"""A member of a classic group, the vote on a protocol, and the one thing we read of a subscription: its topics.

Subscriptions and assignments are the clients' own and are handed on unopened. Only whether a consumer's group reads a
topic matters here, for the deletion and expiry of offsets, so only the first fields of a subscription are read.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from struct import Struct as Layout
from struct import error as StructError
from typing import NamedTuple

CONSUMER = "consumer"

_VERSION_AND_COUNT = Layout(">hi")
_LENGTH = Layout(">h")


class Protocol(NamedTuple):
    name: str
    metadata: bytes


class Member(NamedTuple):
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout_ms: int
    rebalance_timeout_ms: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""

    def metadata(self, protocol_name: str | None) -> bytes:
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")


def common_protocols(members: Iterable[Member]) -> set[str]:
    """The names that every member offers."""
    offers = [{protocol.name for protocol in member.protocols} for member in members]
    return set.intersection(*offers) if offers else set()


def choose_protocol(members: Collection[Member]) -> str:
    """The protocol with most votes: each member votes for the first in its list that all members offer.

    Members are let in only while there is one.
    """
    common = common_protocols(members)
    votes = Counter(
        next(protocol.name for protocol in member.protocols if protocol.name in common) for member in members
    )
    return votes.most_common(1)[0][0]


def topics_of(subscription: bytes) -> set[str] | None:
    """The topics of a consumer's subscription; None when it is not one."""
    try:
        _, count = _VERSION_AND_COUNT.unpack_from(subscription)
        at = _VERSION_AND_COUNT.size
        topics = set()
        for _ in range(count):
            start = at + _LENGTH.size
            at = start + _LENGTH.unpack_from(subscription, at)[0]
            if not start <= at <= len(subscription):
                return None
            topics.add(subscription[start:at].decode())
    except (StructError, UnicodeDecodeError):
        return None
    return topics
