"""Moving a partition to other brokers, as AlterPartitionReassignments does it.

    asked      replicas = the targets, then those to go; `adding` are new, `removing` will go
    running    new replicas copy and join the ISR
    finished   every target is in the ISR: replicas = the targets (`finish`, found by `decide.heal`)
    cancelled  those that were being added go at once

Interrupted anywhere, the partition is either where it was, on its way, or where it should be. Nothing is taken away
before all of its successors are in sync; what would leave fewer in sync than `min.insync.replicas` is refused.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.elect import choose_leader, effective_min_isr, lead
from headrace.cluster.entities import NO_LEADER, PartitionState, Topic
from headrace.cluster.image import Image
from headrace.cluster.rewrite import Rewrite, alive, commit_rewrites, each_partition
from headrace.cluster.store import Commit
from headrace.wire.codes import ErrorCode


class Reassignment(NamedTuple):
    """One that is running, as ListPartitionReassignments shows it."""

    topic: str
    index: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def reassign(
    image: Image,
    live: Mapping[int, int],
    topic: str,
    index: int,
    target: Sequence[int] | None,
    *,
    min_insync_replicas: int = 1,
    may_change_factor: bool = True,
) -> Commit | None:
    """Begins a move, turns one that is running to another target, or with None cancels it. None: nothing to do."""
    state = image.partition(topic, index)
    if state is None or not state.replicas:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {index} of topic {topic}")
    if target is None:
        wanted = _cancelled(state)
    else:
        _check_target(image, live, state, target, may_change_factor)
        wanted = _begun(state, tuple(target))
    after = _settle_dropped(state, wanted, live_ids := alive(image, live), min_insync_replicas)
    after = finish(after, live_ids) if after.removing and not after.adding else after
    return None if after == state else commit_rewrites([Rewrite(image.topics[topic], index, _bumped(state, after))])[0]


def list_reassignments(image: Image) -> list[Reassignment]:
    return [
        Reassignment(topic.name, index, state.replicas, state.adding, state.removing)
        for topic, index, state in each_partition(image)
        if state.adding or state.removing
    ]
