"""Brokers without room on their disk: they lead only where no replica in sync has room.

    room below the reserve ─▶ `is_full` in the registration ─▶ reluctant ─▶ `elect` gives its leaders to others in sync
                                                                └─ nobody else has room: it leads on, and refuses writes

Brokers on one disk run out of room in the same moment, but say so one after the other. They count as full together from
the first word to the last, or leaders would move among them twice for nothing.
"""

from collections.abc import Collection, Mapping

from headrace.cluster.entities import Broker
from headrace.cluster.image import Image
from headrace.cluster.records import broker_key, encode
from headrace.cluster.store import Commit


def full_brokers(brokers: Mapping[int, Broker], live: Collection[int]) -> frozenset[int]:
    """Live brokers whose disk is full by their own word, or by that of a live broker on the same disk."""
    alive = [brokers[each] for each in live if each in brokers]
    full = [each for each in alive if each.is_full]
    disks = {each.disk_id for each in full if each.disk_id}
    return frozenset(each.id for each in (*full, *(each for each in alive if each.disk_id in disks)))


def reluctant_leaders(brokers: Mapping[int, Broker], live: Collection[int]) -> frozenset[int]:
    """Live brokers that lead only where nobody else can: those that are leaving, and those without room."""
    leaving = [each for each in live if each in brokers and brokers[each].leaving]
    return full_brokers(brokers, live).union(leaving)


def say_full(image: Image, broker_id: int, epoch: int, is_full: bool) -> list[Commit]:
    """The commit that notes a full disk; none if the registration says so already, or belongs to another life."""
    known = image.brokers.get(broker_id)
    if known is None or known.epoch != epoch or known.is_full == is_full:
        return []
    key = broker_key(broker_id)
    return [Commit({key: encode(known._replace(is_full=is_full))}, {key: known.revision})]
