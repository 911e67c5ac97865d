"""Which broker holds which replicas, as plans see it: plain values, so that a client can plan from what Metadata says.

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
    """Those that may be given replicas: alive, and not leaving."""
    partitions: Mapping[TopicPartition, tuple[int, ...]]
    """The preferred leader first."""


class Move(NamedTuple):
    topic: str
    partition: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def copies(self) -> int:
        """How many replicas have to be copied; none where only the order changes."""
        return len(set(self.after) - set(self.before))


def moves(layout: Layout, after: Mapping[TopicPartition, Sequence[int]]) -> list[Move]:
    """From a layout to another, without what stays."""
    return [
        Move(*each, before, tuple(after[each]))
        for each, before in layout.partitions.items()
        if each in after and tuple(after[each]) != before
    ]


def crowding(replicas: Sequence[int], brokers: Mapping[int, Broker]) -> tuple[int, int]:
    """Pairs of replicas that share a rack, and pairs that share a host: fewer is better, racks first."""
    known = [brokers[replica] for replica in replicas if replica in brokers]
    pairs = [(one, other) for place, one in enumerate(known) for other in known[:place]]
    same_host = sum((one.rack, one.host) == (other.rack, other.host) for one, other in pairs)
    return sum(one.rack == other.rack for one, other in pairs), same_host
