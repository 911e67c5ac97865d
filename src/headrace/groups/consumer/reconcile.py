"""A member's next step towards its target. A calculation.

    STABLE ──target is newer──▶ must it give something up?
                                 yes: UNREVOKED_PARTITIONS   its epoch stays, it is told only what it keeps
                                      until it reports that it no longer has the rest
                                 no:  its epoch is the target's, it gets those of its partitions that are free
                                      all of it: STABLE         others still have some: UNRELEASED_PARTITIONS

Nothing is given to anyone while somebody else may still read it, so each partition has one owner at any time.
"""

from collections.abc import Callable

from headrace.groups.consumer.records import Current, MemberState
from headrace.groups.partitions import NOTHING_OWNED, Part, Parts


def reconcile(
    current: Current,
    target_epoch: int,
    target: Parts,
    reported: Parts | None,
    is_taken: Callable[[Part], bool],
) -> Current:
    """The member's state after one step.

    `reported` are the partitions it says it has, None when it says nothing; `is_taken` whether another member has one.
    """
    if current.state is MemberState.STABLE and current.epoch == target_epoch:
        return current
    if current.state is MemberState.UNREVOKED_PARTITIONS and _still_has(reported, frozenset(current.revoking)):
        return current
    kept = {part: since for part, since in current.assigned.items() if part in target}
    surplus = {part: since for part, since in current.assigned.items() if part not in target}
    if surplus and _still_has(reported, frozenset(surplus)):
        state = MemberState.UNREVOKED_PARTITIONS
        return Current(current.epoch, current.previous_epoch, state, kept, surplus)
    missing = target - kept.keys()
    free = [part for part in missing if not is_taken(part)]
    state = MemberState.STABLE if len(free) == len(missing) else MemberState.UNRELEASED_PARTITIONS
    previous = current.previous_epoch if current.epoch == target_epoch else current.epoch
    return Current(target_epoch, previous, state, {**kept, **dict.fromkeys(free, target_epoch)}, NOTHING_OWNED)


def _still_has(reported: Parts | None, parts: Parts) -> bool:
    return reported is None or not parts.isdisjoint(reported)
