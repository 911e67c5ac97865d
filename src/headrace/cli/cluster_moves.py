"""Moving replicas: a plan from the survey, shown and agreed to, begun, and watched to its end.

A plan starts from where partitions are on their way to, so the same command after an interruption goes on where it was.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import typer

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.cli.cluster_admin import refused
from headrace.cli.cluster_progress import until_moved
from headrace.cli.cluster_throttle import parse_rate, set_throttle
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, remark, show_json, show_rows, size_of
from headrace.client.admin import Admin
from headrace.client.survey import Survey, survey
from headrace.cluster.entities import Broker
from headrace.cluster.leadership import ElectionType
from headrace.cluster.moves import Plan, Replicas, drain, rebalance, replace

ROWS_MAX = 30

Planner = Callable[[Survey], Plan]


class Wanted(NamedTuple):
    plan: Planner
    throttle: str | None
    yes: bool
    dry_run: bool
    no_wait: bool
    as_json: bool


# -- plans -------------------------------------------------------------------------------------------------------------


def plan_rebalance(seen: Survey) -> Plan:
    return rebalance(_assignment(seen), _live(seen))


def plan_drain(broker_id: int) -> Planner:
    def plan(seen: Survey) -> Plan:
        _check_known(seen, broker_id)
        return drain(_assignment(seen), _live(seen), [broker_id])

    return plan


def plan_replace(old: int, new: int) -> Planner:
    def plan(seen: Survey) -> Plan:
        _check_known(seen, old)
        return replace(_assignment(seen), _live(seen), old, new)

    return plan


def plan_add(broker_ids: Sequence[int]) -> Planner:
    def plan(seen: Survey) -> Plan:
        assignment = _assignment(seen)
        for broker_id in broker_ids:
            _check_known(seen, broker_id)
        busy = {replica for replicas in assignment.values() for replica in replicas}
        joined = broker_ids or [broker.id for broker in seen.live if broker.id not in busy]
        if not joined:
            raise Failure(
                "every live broker holds partitions already",
                "name those that joined, or use `headrace cluster rebalance`",
                ExitCode.NOT_FOUND,
            )
        return rebalance(assignment, _live(seen), onto=joined)

    return plan


def _assignment(seen: Survey) -> dict[TopicPartition, Replicas]:
    """Where each partition is going to be. One without a leader cannot move: nobody has what there is to copy."""
    return {each.id: each.targets for each in seen.partitions.values() if each.leader is not None}


def _live(seen: Survey) -> list[Broker]:
    return [Broker(each.id, 0, each.host, each.port, each.rack) for each in seen.live]


def _check_known(seen: Survey, broker_id: int) -> None:
    if broker_id not in seen.brokers and not any(broker_id in each.replicas for each in seen.partitions.values()):
        known = ", ".join(map(str, seen.brokers))
        raise Failure(f"there is no broker {broker_id}", f"the brokers are {known}", ExitCode.NOT_FOUND)


# -- doing it ----------------------------------------------------------------------------------------------------------


async def move(admin: Admin, wanted: Wanted) -> None:
    seen = await survey(admin)
    rate = parse_rate(wanted.throttle)
    try:
        plan = wanted.plan(seen)
    except UserError as error:
        raise error if isinstance(error, Failure) else Failure(error.cause, error.fix, ExitCode.REFUSED) from None
    view = plan_view(plan, seen)
    if not wanted.as_json:
        _show_plan(view, seen)
    if wanted.dry_run or not (plan or seen.moving):
        if wanted.as_json:
            show_json({**view, "done": not plan and not seen.moving})
        return
    if plan:
        if not wanted.yes:
            _confirm(view)
        await _begin(admin, plan, seen, rate)
    await _finish(admin, plan, wanted)
    if wanted.as_json:
        show_json({**view, "done": not wanted.no_wait})


async def _begin(admin: Admin, plan: Plan, seen: Survey, rate: int | None) -> None:
    if rate is not None:
        await set_throttle(admin, plan, seen, rate)
    refusals = await admin.reassign(plan)
    if refusals:
        id, refusal = next(iter(refusals.items()))
        what = f"{id} was not moved" if len(refusals) == 1 else f"{len(refusals)} partitions were not moved, {id} first"
        raise refused(refusal, what)


async def _finish(admin: Admin, plan: Plan, wanted: Wanted) -> None:
    if wanted.no_wait:
        if not wanted.as_json:
            print("begun; `headrace cluster reassignments --watch` shows how far it is")
        return
    try:
        await until_moved(admin, show=not wanted.as_json)
        await admin.elect(ElectionType.PREFERRED, list(plan))
    except asyncio.CancelledError:
        say_how_to_go_on()
        raise
    if not wanted.as_json:
        print("done")


def say_how_to_go_on() -> None:
    remark(
        "\nno longer watching; the move goes on by itself\n"
        "  watch it:   headrace cluster reassignments --watch\n"
        "  cancel it:  headrace cluster reassignments --cancel\n"
        "  resume it:  the same command again"
    )


# -- showing it --------------------------------------------------------------------------------------------------------


def plan_view(plan: Plan, seen: Survey) -> dict[str, Any]:
    moves = []
    for id, replicas in plan.items():
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


def _show_plan(view: dict[str, Any], seen: Survey) -> None:
    moves = view["moves"]
    rows = [
        {**each, "partition": f"{each['topic']}-{each['partition']}", "size": size_of(each["bytes"])} for each in moves
    ]
    if rows:
        show_rows(rows[:ROWS_MAX], {"partition": "PARTITION", "from": "REPLICAS NOW", "to": "THEN", "size": "TO COPY"})
        if len(rows) > ROWS_MAX:
            print(f"and {count_of(len(rows) - ROWS_MAX, 'partition')} more; --dry-run --json lists all")
    else:
        print("nothing to move: every partition is where it should be")
    if seen.moving:
        print(f"\n{count_of(len(seen.moving), 'partition')} already moving")
    if view["offline"]:
        remark(
            f"\nwarning: {count_of(len(view['offline']), 'partition')} without a leader cannot be moved; "
            "start the brokers that hold them"
        )


def _confirm(view: dict[str, Any]) -> None:
    moves = view["moves"]
    copied = sum(1 for each in moves if each["bytes"])
    question = f"\nMove {count_of(len(moves), 'partition')}, copying {size_of(view['bytes'])}?"
    if not copied:
        question = f"\nChange {count_of(len(moves), 'partition')}? No messages have to be copied."
    if not typer.confirm(question):
        raise Failure("nothing was moved", "answer y, or add --yes", ExitCode.REFUSED)
