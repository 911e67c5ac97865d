"""Plans of moves, made from a survey: which partitions get which replicas, for each purpose; and how far moves are.

A plan starts from where partitions are on their way to, so the same plan made again goes on where the last one was.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from headrace.admin.survey import PartitionSeen, Survey
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.cluster import plan
from headrace.cluster.entities import Broker
from headrace.cluster.layout import Layout, Move
from headrace.wire.codes import ErrorCode

Plan = dict[TopicPartition, tuple[int, ...]]
"""The replicas afterwards, preferred leader first, of every partition that changes."""
Planner = Callable[[Survey], Plan]


def rebalance(seen: Survey) -> Plan:
    return _plan(plan.plan_rebalance(_layout(seen)))


def drain(broker_id: int) -> Planner:
    def planner(seen: Survey) -> Plan:
        check_known(seen, broker_id)
        return _plan(plan.plan_drain(_layout(seen), broker_id))

    return planner


def replace(old: int, new: int) -> Planner:
    def planner(seen: Survey) -> Plan:
        check_known(seen, old)
        return _plan(plan.plan_replace(_layout(seen), old, new))

    return planner


def add(broker_ids: Sequence[int]) -> Planner:
    def planner(seen: Survey) -> Plan:
        for broker_id in broker_ids:
            check_known(seen, broker_id)
        layout = _layout(seen)
        busy = {replica for replicas in layout.partitions.values() for replica in replicas}
        joined = set(broker_ids) or layout.usable - busy
        if not joined:
            raise Refused(
                ErrorCode.BROKER_ID_NOT_REGISTERED,
                "every live broker holds partitions already; name those that joined, or rebalance",
            )
        return _plan([move for move in plan.plan_rebalance(layout) if joined.intersection(move.after)])

    return planner


def replication_factor(topic: str, factor: int) -> Planner:
    return lambda seen: _plan(plan.plan_replication_factor(_layout(seen), topic, factor))


def _plan(moves: Sequence[Move]) -> Plan:
    return {TopicPartition(move.topic, move.partition): move.after for move in moves}


def _layout(seen: Survey) -> Layout:
    """Where each partition is going to be. One without a leader cannot move: nobody has what there is to copy."""
    return Layout(
        {each.id: Broker(each.id, 0, each.host, each.port, each.rack) for each in seen.brokers.values()},
        frozenset(each.id for each in seen.live),
        {each.id: each.targets for each in seen.partitions.values() if each.leader is not None},
    )


def check_known(seen: Survey, broker_id: int) -> None:
    if broker_id not in seen.brokers and not any(broker_id in each.replicas for each in seen.partitions.values()):
        known = ", ".join(map(str, seen.brokers))
        raise Refused(ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {broker_id}; the brokers are {known}")


def plan_view(wanted: Plan, seen: Survey) -> dict[str, Any]:
    """The JSON form of a plan of moves."""
    moves = []
    for id, replicas in wanted.items():
        before = seen.partitions[id]
        new = [each for each in replicas if each not in before.replicas]
        moves.append(
            {
                "topic": id.topic,
                "partition": id.partition,
                "from": list(before.targets),
                "to": list(replicas),
                "bytes": len(new) * before.size_bytes,
            }
        )
    offline = [str(each.id) for each in seen.partitions.values() if each.leader is None]
    return {"moves": moves, "bytes": sum(each["bytes"] for each in moves), "offline": offline}


class Copied(NamedTuple):
    done_bytes: int
    total_bytes: int


def copied(partition: PartitionSeen) -> Copied:
    """Bytes over all replicas that are being added."""
    size = partition.size_bytes
    done = [min(size, partition.held[each].size_bytes) for each in partition.adding if each in partition.held]
    return Copied(sum(done), size * len(partition.adding))


def moving_view(each: PartitionSeen) -> dict[str, Any]:
    done, total = copied(each)
    return {
        "topic": each.id.topic,
        "partition": each.id.partition,
        "leader": each.leader,
        "replicas": list(each.targets),
        "adding": list(each.adding),
        "removing": list(each.removing),
        "copied_bytes": done,
        "total_bytes": total,
    }
