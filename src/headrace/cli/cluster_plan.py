"""From what a survey shows to a plan: which partitions get which replicas, for each purpose; and how it is shown."""

from collections.abc import Callable, Sequence
from typing import Any

from headrace.base.ids import TopicPartition
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, remark, show_rows, size_of
from headrace.client.survey import Survey
from headrace.cluster import plan
from headrace.cluster.entities import Broker
from headrace.cluster.layout import Layout, Move

ROWS_MAX = 30

Plan = dict[TopicPartition, tuple[int, ...]]
"""The replicas afterwards, preferred leader first, of every partition that changes."""
Planner = Callable[[Survey], Plan]


def rebalance(seen: Survey) -> Plan:
    return _plan(plan.plan_rebalance(_layout(seen)))


def drain(broker_id: int) -> Planner:
    def planner(seen: Survey) -> Plan:
        _check_known(seen, broker_id)
        return _plan(plan.plan_drain(_layout(seen), broker_id))

    return planner


def replace(old: int, new: int) -> Planner:
    def planner(seen: Survey) -> Plan:
        _check_known(seen, old)
        return _plan(plan.plan_replace(_layout(seen), old, new))

    return planner


def add(broker_ids: Sequence[int]) -> Planner:
    def planner(seen: Survey) -> Plan:
        for broker_id in broker_ids:
            _check_known(seen, broker_id)
        layout = _layout(seen)
        busy = {replica for replicas in layout.partitions.values() for replica in replicas}
        joined = set(broker_ids) or layout.usable - busy
        if not joined:
            raise Failure(
                "every live broker holds partitions already",
                "name those that joined, or use `headrace cluster rebalance`",
                ExitCode.NOT_FOUND,
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


def _check_known(seen: Survey, broker_id: int) -> None:
    if broker_id not in seen.brokers and not any(broker_id in each.replicas for each in seen.partitions.values()):
        known = ", ".join(map(str, seen.brokers))
        raise Failure(f"there is no broker {broker_id}", f"the brokers are {known}", ExitCode.NOT_FOUND)


def plan_view(wanted: Plan, seen: Survey) -> dict[str, Any]:
    """As plain values: the JSON form."""
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


def show_plan(view: dict[str, Any], moving: int) -> None:
    rows = [
        {**each, "partition": f"{each['topic']}-{each['partition']}", "size": size_of(each["bytes"])}
        for each in view["moves"]
    ]
    columns = {"partition": "PARTITION", "from": "REPLICAS NOW", "to": "THEN", "size": "TO COPY"}
    if rows:
        show_rows(rows[:ROWS_MAX], columns)
    else:
        print("nothing to move: every partition is where it should be")
    if len(rows) > ROWS_MAX:
        print(f"and {count_of(len(rows) - ROWS_MAX, 'partition')} more; --dry-run --json lists all")
    if moving:
        print(f"\n{count_of(moving, 'partition')} already moving")
    if view["offline"]:
        offline = count_of(len(view["offline"]), "partition")
        remark(f"\nwarning: {offline} without a leader cannot be moved; start the brokers that hold them")
