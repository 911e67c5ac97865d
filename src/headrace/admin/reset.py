"""A reset of a group: what it has committed now, what it will have, and what that skips or repeats.

A plan is made of what is there at one moment and changes nothing. Whoever carries it out is refused by the broker if a
member has come meanwhile.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from headrace.admin.admin import Admin
from headrace.admin.groups import NewCommit, commit, require_no_members
from headrace.admin.lag import committed_by
from headrace.admin.positions import list_offsets
from headrace.admin.topics import find_topic, offset_ranges
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.wire.codes import ErrorCode

Chosen = Mapping[str, Collection[int] | None]
"""Topics, each with some of its partitions or (None) all of them."""


class NothingToShift(Refused):
    """A refusal of ours, not of the cluster: the reset asked for makes no sense for this group."""


class ResetTarget(NamedTuple):
    kind: Literal["earliest", "latest", "offset", "time", "shift", "each"]
    number: int = 0
    offsets: Mapping[TopicPartition, int] = {}
    """Only of `each`: one offset for every partition."""

    def offset(self, id: TopicPartition, before: int | None, start: int, end: int, at_time: int | None) -> int:
        """The offset to commit, inside what the partition holds: beyond it consumers would start where they please."""
        match self.kind:
            case "earliest":
                return start
            case "latest":
                return end
            case "time":
                return end if at_time is None else at_time
            case "shift":
                if before is None:
                    raise NothingToShift(ErrorCode.INVALID_REQUEST, f"{id} has no commit to shift; say where to go")
                return min(max(before + self.number, start), end)
            case "offset":
                return min(max(self.number, start), end)
            case "each":
                return min(max(self.offsets[id], start), end)


class Reset(NamedTuple):
    id: TopicPartition
    before: int | None
    after: int

    @property
    def skipped(self) -> int:
        return max(0, self.after - self.before) if self.before is not None else 0

    @property
    def repeated(self) -> int:
        return max(0, self.before - self.after) if self.before is not None else 0

    def view(self) -> dict[str, Any]:
        return {
            "topic": self.id.topic,
            "partition": self.id.partition,
            "before": self.before,
            "after": self.after,
            "skipped": self.skipped,
            "repeated": self.repeated,
        }


async def plan_reset(admin: Admin, group: str, chosen: Chosen, target: ResetTarget) -> list[Reset]:
    """The resets of the chosen partitions, or of all that the group has committed; a group that does not exist begins
    with them.
    """
    is_known = await _is_known(admin, group)
    before = {id: each.offset for id, each in (await committed_by(admin, group)).items()}
    wanted = await _wanted(admin, chosen, target, before)
    if not wanted:
        nothing = f"group {group} has committed nothing" if is_known else f"there is no group {group}"
        raise Refused(ErrorCode.GROUP_ID_NOT_FOUND, f"{nothing}; name the topics to begin with")
    return await _resets(admin, wanted, before, target)


async def _is_known(admin: Admin, group: str) -> bool:
    """Refuses a group that has members."""
    try:
        await require_no_members(admin, [group])
    except Refused as refusal:
        if refusal.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return False
    return True


async def _wanted(
    admin: Admin, chosen: Chosen, target: ResetTarget, before: Collection[TopicPartition]
) -> list[TopicPartition]:
    named: set[TopicPartition] = set()
    for topic, partitions in chosen.items():
        named |= await _partitions_of(admin, topic, partitions)
    known = set(target.offsets) if target.kind == "each" else set(before)
    if target.kind == "each" and named:
        return sorted(known & named)
    return sorted(named or known)


async def _partitions_of(admin: Admin, topic: str, partitions: Collection[int] | None) -> set[TopicPartition]:
    existing = {each.partition_index for each in (await find_topic(admin, topic)).partitions}
    missing = set(partitions or ()) - existing
    if missing:
        raise Refused(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"topic {topic} has no partition {min(missing)}; its partitions are 0 to {max(existing)}",
        )
    return {TopicPartition(topic, index) for index in (existing if partitions is None else partitions)}


async def _resets(
    admin: Admin, wanted: Sequence[TopicPartition], before: Mapping[TopicPartition, int], target: ResetTarget
) -> list[Reset]:
    ranges = await offset_ranges(admin, wanted)
    at_time = await list_offsets(admin, dict.fromkeys(wanted, target.number)) if target.kind == "time" else {}
    resets = []
    for id in wanted:
        start, end = ranges[id]
        if start is None or end is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{id} does not exist, or has no leader that answers")
        resets.append(Reset(id, before.get(id), target.offset(id, before.get(id), start, end, at_time.get(id))))
    return resets


async def apply_reset(admin: Admin, group: str, resets: Sequence[Reset]) -> None:
    refusals = await commit(admin, group, {each.id: NewCommit(each.after) for each in resets})
    for id, refusal in refusals.items():
        if refusal.code == ErrorCode.UNKNOWN_MEMBER_ID:
            raise Refused(ErrorCode.NON_EMPTY_GROUP, f"group {group} was not reset: a member has come meanwhile")
        raise Refused(refusal.code, f"{id} was not reset: {refusal.message}")
