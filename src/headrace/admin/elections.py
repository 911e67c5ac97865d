"""Elections on demand: which partitions would get which leader, then asked for."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from headrace.admin.admin import Admin
from headrace.admin.survey import PartitionSeen, Survey
from headrace.base.errors import Refused
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.replicas import ElectionType


class PlannedElection(NamedTuple):
    partition: PartitionSeen
    then: int
    """The broker that the election would make leader."""


def plan_elections(seen: Survey, topics: Sequence[str], unclean: bool) -> list[PlannedElection]:
    """Elections for these topics, or for all: where the preferred replica does not lead; with `unclean`, where no
    replica does.
    """
    known = {each.id.topic for each in seen.partitions.values()}
    for topic in topics:
        if topic not in known:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {topic}")
    chosen = [each for each in seen.partitions.values() if not topics or each.id.topic in topics]
    alive = {broker.id for broker in seen.live}
    elections = (_unclean(each, alive) if unclean else _preferred(each, alive) for each in chosen)
    return [each for each in elections if each is not None]


def _preferred(each: PartitionSeen, alive: set[int]) -> PlannedElection | None:
    first = each.replicas[0]
    return PlannedElection(each, first) if each.leader != first and first in each.isr and first in alive else None


def _unclean(each: PartitionSeen, alive: set[int]) -> PlannedElection | None:
    able = [replica for replica in each.replicas if replica in alive]
    return PlannedElection(each, able[0]) if each.leader is None and able else None


async def hold_elections(admin: Admin, elections: Sequence[PlannedElection], unclean: bool) -> list[Refused | None]:
    """The outcomes in the order of the elections: None for a new leader."""
    kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    outcomes = await admin.elect(kind, [each.partition.id for each in elections])
    return [outcomes.get(each.partition.id) for each in elections]


def election_view(election: PlannedElection) -> dict[str, Any]:
    """The JSON form of an election."""
    each = election.partition
    return {
        "topic": each.id.topic,
        "partition": each.id.partition,
        "leader": each.leader,
        "then": election.then,
        "replicas": list(each.replicas),
        "isr": list(each.isr),
    }
