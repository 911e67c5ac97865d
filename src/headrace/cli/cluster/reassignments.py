"""Moves that are running: listed, watched to the end, cancelled."""

import asyncio

import typer

from headrace.admin.admin import Admin
from headrace.admin.moves import moving_view
from headrace.admin.survey import Survey, survey
from headrace.base.units import size_text
from headrace.cli.cluster.moves import say_how_to_go_on
from headrace.cli.cluster.progress import until_moved
from headrace.cli.cluster.throttle import lift_throttle, throttled_topics
from headrace.cli.connection import refused
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, remark, show_json, show_rows


async def list_all(admin: Admin, as_json: bool) -> None:
    seen = await survey(admin)
    if as_json:
        show_json([moving_view(each) for each in seen.moving])
        return
    _show(seen)
    if not seen.moving and await throttled_topics(admin):
        remark("a throttle of a move that is done is still set; `headrace cluster reassignments --watch` lifts it")


async def watch_all(admin: Admin, as_json: bool) -> None:
    seen = await survey(admin)
    if not seen.moving:
        lifted = await lift_throttle(admin, await throttled_topics(admin))
        if as_json:
            show_json([])
        else:
            print("no partition is moving" + ("; the throttle that was left is lifted" if lifted else ""))
        return
    try:
        await until_moved(admin, show=not as_json)
    except asyncio.CancelledError:
        say_how_to_go_on()
        raise
    if as_json:
        show_json([moving_view(each) for each in seen.moving])
    else:
        print("done")


async def cancel_all(admin: Admin, yes: bool, as_json: bool) -> None:
    if as_json and not yes:
        raise Failure("cancelling asks first, and with --json there is nobody to ask", "add --yes", ExitCode.USAGE)
    seen = await survey(admin)
    if not as_json:
        _show(seen)
    if seen.moving:
        what = f"\nCancel the move of {count_of(len(seen.moving), 'partition')}? What was copied is thrown away."
        if not yes and not typer.confirm(what):
            raise Failure("nothing was cancelled", "answer y, or add --yes", ExitCode.REFUSED)
        refusals = await admin.reassign(dict.fromkeys(each.id for each in seen.moving))
        for id, refusal in refusals.items():
            raise refused(refusal, f"the move of {id} goes on")
        await lift_throttle(admin, {each.id.topic for each in seen.moving})
    if as_json:
        show_json([moving_view(each) for each in seen.moving])
    elif seen.moving:
        print(f"cancelled: {count_of(len(seen.moving), 'partition')}")


def _show(seen: Survey) -> None:
    rows = [
        {
            **view,
            "partition": f"{view['topic']}-{view['partition']}",
            "copied": f"{size_text(view['copied_bytes'])} of {size_text(view['total_bytes'])}",
        }
        for view in map(moving_view, seen.moving)
    ]
    columns = {"partition": "PARTITION", "leader": "LEADER", "adding": "ADDING", "removing": "REMOVING"}
    show_rows(rows, {**columns, "replicas": "THEN", "copied": "COPIED"}, empty="no partition is moving")
