"""The replicas of new partitions: named one by one in the request, or placed by us; checked, and made partition states."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from headrace.base.errors import Refused
from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.cluster.place import place
from headrace.wire.codes import ErrorCode

NEW_PARTITIONS_MAX: Final = 10_000
"""In one request: a typing error must not fill the store."""


def place_new(
    image: Image, live: Collection[int], partitions: int, replication_factor: int, start: int
) -> list[PartitionState]:
    if partitions > NEW_PARTITIONS_MAX:
        raise Refused(
            ErrorCode.POLICY_VIOLATION, f"{partitions} new partitions; at most {NEW_PARTITIONS_MAX} in one request"
        )
    brokers = [broker for broker in image.brokers.values() if broker.id in live]
    if replication_factor > len(brokers):
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"replication factor {replication_factor} needs as many brokers; {len(brokers)} of "
            f"{len(image.brokers)} registered brokers are alive",
        )
    return [_new_partition(replicas, live) for replicas in place(brokers, partitions, replication_factor, start)]


def assign_new(
    image: Image, live: Collection[int], assignment: Mapping[int, Sequence[int]], first: int = 0
) -> list[PartitionState]:
    """Partitions on the requested replicas. The keys must be the partitions from `first` on, without a gap."""
    if sorted(assignment) != list(range(first, first + len(assignment))):
        raise _bad_assignment(f"partitions must be numbered from {first} on without a gap, not {sorted(assignment)}")
    factors = {len(replicas) for replicas in assignment.values()}
    if len(factors) > 1:
        raise _bad_assignment(f"every partition must have as many replicas, not {sorted(factors)}")
    return [_assigned(image, live, index, tuple(assignment[index])) for index in sorted(assignment)]


def _assigned(image: Image, live: Collection[int], index: int, replicas: tuple[int, ...]) -> PartitionState:
    if not replicas:
        raise _bad_assignment(f"partition {index} has no replicas")
    if len(set(replicas)) < len(replicas):
        raise _bad_assignment(f"partition {index} names a broker twice: {list(replicas)}")
    unknown = [replica for replica in replicas if replica not in image.brokers]
    if unknown:
        raise _bad_assignment(f"partition {index} names brokers that are not registered: {unknown}")
    if not any(replica in live for replica in replicas):
        raise _bad_assignment(f"partition {index} has no replica on a live broker: {list(replicas)}")
    return _new_partition(replicas, live)


def _new_partition(replicas: tuple[int, ...], live: Collection[int]) -> PartitionState:
    """A new partition, in sync on all replicas that are alive: an empty log is equal to an empty log."""
    isr = tuple(replica for replica in replicas if replica in live)
    return PartitionState(replicas, isr, leader=isr[0])


def _bad_assignment(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
