"""The replicas of each partition by broker, as plans see them: plain values, so that a client can plan from Metadata.

A partition that is moving counts as where it will be, so a plan made while another one runs goes on from there.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.base.ids import TopicPartition
from headrace.cluster.entities import Broker


class Layout(NamedTuple):
    brokers: Mapping[int, Broker]
    """Every one that is known: where each stands."""
    usable: frozenset[int]
    """Brokers that may be given replicas: alive, and not leaving."""
    partitions: Mapping[TopicPartition, tuple[int, ...]]
    """The preferred leader first."""


class Move(NamedTuple):
    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def copies(self) -> int:
        """The number of replicas to copy; zero where only the order changes."""
        return len(set(self.after) - set(self.before))


def moves(layout: Layout, after: Mapping[TopicPartition, Sequence[int]]) -> list[Move]:
    """The moves from one layout to another."""
    return [
        Move(*each, before, tuple(after[each]))
        for each, before in layout.partitions.items()
        if each in after and tuple(after[each]) != before
    ]


def crowding(replicas: Sequence[int], brokers: Mapping[int, Broker]) -> tuple[int, int]:
    """The pairs of replicas that share a rack, and the pairs that share a host: fewer is better, racks first."""
    known = [brokers[replica] for replica in replicas if replica in brokers]
    pairs = [(one, other) for place, one in enumerate(known) for other in known[:place]]
    same_host = sum((one.rack, one.host) == (other.rack, other.host) for one, other in pairs)
    return sum(one.rack == other.rack for one, other in pairs), same_host
