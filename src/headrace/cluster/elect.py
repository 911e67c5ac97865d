"""The election of a partition's leader, and the ISR that goes with it: calculations over one partition's state.

    in the ISR and alive  >  in the ELR and alive  >  any replica alive, if an unclean election is allowed  >  nobody

Every change of leader, to nobody too, has a new leader epoch; every change at all has a new partition epoch. The ISR is
never empty: when none of its members is alive it stays as it was, since each of them has every committed record.
Members that leave it while fewer than `min_isr` are left enter the ELR: nothing can be committed without them, so they
may lead once the ISR is dead. A leader must therefore not advance its high watermark while the ELR is not empty.

`live` are brokers that are alive. The `reluctant` among them (`room.reluctant_leaders`: about to leave, or without room
on their disk) lead only where nobody else can; where all are reluctant the leader of now stays.
"""

from collections.abc import Collection
from typing import NamedTuple

from headrace.cluster.entities import NO_LEADER, PartitionState


class Election(NamedTuple):
    state: PartitionState
    unclean: bool = False


def elect(
    state: PartitionState, live: Collection[int], reluctant: Collection[int] = (), *, min_isr: int, unclean: bool
) -> Election | None:
    """The state as it should be with these brokers alive; None when it already is. A leader that can stay does."""
    current = with_isr(state, state.isr, min_isr)
    leader = choose_leader(current, live, reluctant)
    if leader != NO_LEADER:
        alive = [replica for replica in current.isr if replica in live and replica not in current.damaged]
        after = lead(with_isr(current, alive or [leader], min_isr), leader)
        return None if after is state else Election(after)
    if unclean:
        leader = _first(current.replicas, live, reluctant)
        if leader != NO_LEADER:
            return Election(lead_uncleanly(current, leader), unclean=True)
    after = lead(current, NO_LEADER)
    return None if after is state else Election(after)


def choose_leader(state: PartitionState, live: Collection[int], reluctant: Collection[int] = ()) -> int:
    """The leader of now if it is alive and has every committed record, else the first such replica in assignment order."""
    eligible = [each for each in state.replicas if each in state.isr and each in live and each not in state.damaged]
    if not eligible:
        eligible = [each for each in state.replicas if each in state.elr and each in live]
    staying = [each for each in eligible if each not in reluctant] or eligible
    return state.leader if state.leader in staying else next(iter(staying), NO_LEADER)


def _first(replicas: Collection[int], live: Collection[int], reluctant: Collection[int]) -> int:
    alive = [each for each in replicas if each in live]
    return next((each for each in alive if each not in reluctant), alive[0] if alive else NO_LEADER)


def lead(state: PartitionState, leader: int) -> PartitionState:
    if leader == state.leader:
        return state
    return state._replace(leader=leader, leader_epoch=state.leader_epoch + 1, partition_epoch=state.partition_epoch + 1)


def lead_uncleanly(state: PartitionState, leader: int) -> PartitionState:
    """Makes `leader` the whole ISR: its log is the truth from now on, so no one else is in sync, eligible or damaged."""
    alone = state._replace(isr=(leader,), elr=(), damaged=(), leader=NO_LEADER)
    return lead(alone, leader)


def with_isr(state: PartitionState, isr: Collection[int], min_isr: int) -> PartitionState:
    """The state with another ISR, and the ELR that follows from it. The leader stays, and its epoch."""
    assert isr, f"an empty ISR for {state}"
    members = tuple(each for each in state.replicas if each in isr)
    if set(members) == set(state.isr):
        # A different order is no change.
        members = state.isr
    elr: tuple[int, ...] = ()
    if len(members) < min_isr:
        eligible = {*state.isr, *state.elr}.difference(members, state.damaged)
        elr = tuple(each for each in state.replicas if each in eligible)
    if members == state.isr and elr == state.elr:
        return state
    return state._replace(
        isr=members,
        elr=elr,
        damaged=tuple(each for each in state.damaged if each in members),
        partition_epoch=state.partition_epoch + 1,
    )


def effective_min_isr(state: PartitionState, min_insync_replicas: int) -> int:
    """min.insync.replicas, but never more than the topic has replicas without those that a running move adds."""
    return min(min_insync_replicas, len(state.replicas) - len(state.adding))


def min_isr_to_commit(state: PartitionState, min_insync_replicas: int) -> int:
    """The ISR size a leader needs to commit: more than it has while a broker outside the ISR may still lead.

    min.insync.replicas may have been lowered meanwhile, and records committed now would be missing there.
    """
    least = effective_min_isr(state, min_insync_replicas)
    return max(least, len(state.isr) + 1) if state.elr else least


def check_sound(state: PartitionState) -> None:
    """Asserts the invariants of every state that is ever stored."""
    replicas, isr, leader, _, _, elr, adding, removing, damaged, _ = state
    assert isr and set(isr) <= set(replicas), f"ISR outside the replicas: {state}"
    assert leader == NO_LEADER or (leader in isr and leader not in damaged), f"leader outside the ISR: {state}"
    if elr or adding or removing or damaged:
        assert set(elr) <= set(replicas) and not set(elr) & set(isr), f"ELR outside the replicas or in the ISR: {state}"
        assert not set(adding) & set(removing) and {*adding, *removing} <= set(replicas), f"odd reassignment: {state}"
        assert set(damaged) <= set(isr), f"damaged outside the ISR: {state}"
