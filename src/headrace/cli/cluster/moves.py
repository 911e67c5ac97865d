"""Moving replicas: the plan is shown and agreed to, begun, and watched to its end.

The same command after an interruption goes on where it was.
"""

import asyncio
from typing import Any, NamedTuple

import typer

from headrace.admin.admin import Admin
from headrace.admin.moves import Plan, Planner, plan_view
from headrace.admin.survey import Survey, survey
from headrace.base.units import size_text
from headrace.cli.cluster.plan import show_plan
from headrace.cli.cluster.progress import until_moved
from headrace.cli.cluster.throttle import parse_rate, set_throttle
from headrace.cli.connection import refused
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, remark, show_json
from headrace.wire.messages.replicas import ElectionType


class MoveOptions(NamedTuple):
    planner: Planner
    throttle: str | None
    yes: bool
    dry_run: bool
    no_wait: bool
    as_json: bool


async def move(admin: Admin, wanted: MoveOptions) -> None:
    rate = parse_rate(wanted.throttle)
    seen = await survey(admin)
    plan = wanted.planner(seen)
    view = plan_view(plan, seen)
    if not wanted.as_json:
        show_plan(view, len(seen.moving))
    is_done = not plan and not seen.moving
    if not wanted.dry_run and not is_done:
        await _carry_out(admin, plan, seen, rate, wanted)
        is_done = not wanted.no_wait
    if wanted.as_json:
        show_json({**view, "done": is_done})


async def _carry_out(admin: Admin, plan: Plan, seen: Survey, rate: int | None, wanted: MoveOptions) -> None:
    if plan:
        if not wanted.yes:
            _confirm(plan_view(plan, seen))
        if rate is not None:
            await set_throttle(admin, plan, seen, rate)
        await _begin(admin, plan)
    if not wanted.no_wait:
        await _until_done(admin, plan, wanted)
    elif not wanted.as_json:
        print("begun; `headrace cluster reassignments --watch` shows how far it is")


def _confirm(view: dict[str, Any]) -> None:
    partitions = count_of(len(view["moves"]), "partition")
    question = f"\nMove {partitions}, copying {size_text(view['bytes'])}?"
    if not view["bytes"]:
        question = f"\nChange {partitions}? Nothing has to be copied."
    if not typer.confirm(question):
        raise Failure("nothing was moved", "answer y, or add --yes", ExitCode.REFUSED)


async def _begin(admin: Admin, plan: Plan) -> None:
    refusals = await admin.reassign(plan)
    if refusals:
        id, refusal = next(iter(refusals.items()))
        what = f"{id} was not moved" if len(refusals) == 1 else f"{len(refusals)} partitions were not moved, {id} first"
        raise refused(refusal, what)


async def _until_done(admin: Admin, plan: Plan, wanted: MoveOptions) -> None:
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
