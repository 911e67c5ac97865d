"""Moves of a partition to other brokers, as AlterPartitionReassignments has them.

    asked      replicas = the targets, then those to go; `adding` are new, `removing` will go
    running    new replicas copy and join the ISR
    finished   every target is in the ISR: replicas = the targets (`finish`, found by `decide.heal`)
    cancelled  those that were being added go at once

Interrupted anywhere, the partition is either where it was, on its way, or where it should be. Nothing is taken away
before all of its successors are in sync; a cancellation that would leave too few in sync is refused.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.elect import choose_leader, effective_min_isr, lead
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.image import Image
from headrace.cluster.rewrite import Rewrite, alive, commit_rewrites, each_partition, topic_configs
from headrace.cluster.store import Commit
from headrace.wire.codes import ErrorCode


class Reassignment(NamedTuple):
    """A running move, as ListPartitionReassignments shows it."""

    topic: str
    partition: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...]
    removing: tuple[int, ...]


def reassign(
    image: Image,
    live: Mapping[int, int],
    topic: str,
    index: int,
    target: Sequence[int] | None,
    defaults: BrokerConfig,
    *,
    may_change_factor: bool = True,
) -> Commit | None:
    """Begins a move, turns a running one to another target, or cancels it (target None). None: nothing to do."""
    state = image.partition(topic, index)
    if state is None or not state.replicas:
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {index} of topic {topic}")
    ready, owner = alive(image, live), image.topics[topic]
    if target is None:
        _check_running(state, topic, index)
        target = _original(state)
    else:
        _check_target(image, ready, state, target, may_change_factor)
    after = _turn(state, tuple(target), ready, topic_configs(defaults)(owner).min_insync_replicas)
    return None if after is state else commit_rewrites([Rewrite(owner, index, after)])[0]


def list_reassignments(image: Image) -> list[Reassignment]:
    return [
        Reassignment(topic.name, index, state.replicas, state.adding, state.removing)
        for topic, index, state in each_partition(image)
        if is_moving(state)
    ]


def is_moving(state: PartitionState) -> bool:
    return bool(state.adding or state.removing)


def targets(state: PartitionState) -> tuple[int, ...]:
    """The replicas of the partition once its move, if there is one, is done."""
    return _without(state.replicas, state.removing)


def finish(state: PartitionState, live: Collection[int], reluctant: Collection[int] = ()) -> PartitionState:
    """The state after its move, if that is complete; else the state as it is."""
    after = targets(state)
    if not is_moving(state) or state.leader == NO_LEADER or not set(after) <= set(state.isr):
        return state
    return _keep(state, after, live, reluctant)._replace(adding=(), removing=())


def _turn(
    state: PartitionState, target: tuple[int, ...], live: Collection[int], min_insync_replicas: int
) -> PartitionState:
    original = _original(state)
    removing, adding = _without(original, target), _without(target, original)
    replicas = (*target, *removing)
    if (replicas, adding, removing) == (state.replicas, state.adding, state.removing):
        return state
    after = _keep(state, replicas, live)._replace(adding=adding, removing=removing)
    # Committed records are on the ISR of now. A replica that is dropped takes its copy along.
    if len(after.isr) < min(len(state.isr), effective_min_isr(after, min_insync_replicas)):
        raise Refused(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"this would drop in-sync replicas and leave {list(after.isr)}, fewer than min.insync.replicas; "
            f"wait until more of {list(original)} are in sync",
        )
    return after


def _keep(
    state: PartitionState, replicas: tuple[int, ...], live: Collection[int], reluctant: Collection[int] = ()
) -> PartitionState:
    """The state with only these replicas. The leader epoch rises when one goes, so that it is fenced."""
    kept = state._replace(
        replicas=replicas,
        isr=tuple(each for each in replicas if each in state.isr),
        elr=tuple(each for each in replicas if each in state.elr),
        partition_epoch=state.partition_epoch + 1,
    )
    if set(state.replicas) <= set(replicas):
        return kept
    if kept.leader not in replicas:
        return lead(kept, choose_leader(kept, [each for each in kept.isr if each in live], reluctant))
    return kept._replace(leader_epoch=kept.leader_epoch + 1)


def _original(state: PartitionState) -> tuple[int, ...]:
    return _without(state.replicas, state.adding)


def _without(replicas: Sequence[int], others: Collection[int]) -> tuple[int, ...]:
    return tuple(each for each in replicas if each not in others)


def _check_running(state: PartitionState, topic: str, index: int) -> None:
    if not is_moving(state):
        raise Refused(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, f"partition {index} of topic {topic} is not moving")


def _check_target(
    image: Image, live: Collection[int], state: PartitionState, target: Sequence[int], may_change_factor: bool
) -> None:
    if not target or len(set(target)) < len(target):
        raise _bad_target(f"replicas must be brokers, each once, not {list(target)}")
    unknown = [each for each in target if each not in image.brokers]
    if unknown:
        raise _bad_target(f"brokers that are not registered: {unknown}")
    dead = [each for each in _without(target, state.replicas) if each not in live]
    if dead:
        raise _bad_target(f"brokers that are not alive, so that the move would never be done: {dead}; start them first")
    factor = len(_original(state))
    if not may_change_factor and len(target) != factor:
        raise Refused(
            ErrorCode.INVALID_REPLICATION_FACTOR, f"the partition has {factor} replicas, the target {len(target)}"
        )


def _bad_target(message: str) -> Refused:
    return Refused(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
