"""Elections on demand: the plan is shown and agreed to, then asked for."""

from collections.abc import Sequence
from typing import Any

import typer

from headrace.admin.admin import Admin
from headrace.admin.elections import election_view, hold_elections, plan_elections
from headrace.admin.survey import survey
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, remark, show_json, show_rows

ROWS_MAX = 50
_UNCLEAN_WARNING = (
    "\nwarning: none of the in-sync replicas of these partitions is alive. Whoever leads now may lack messages that\n"
    "were acknowledged, and when the others come back, theirs are cut off. Start the missing brokers instead if you can."
)


async def elect_leaders(
    admin: Admin, topics: Sequence[str], unclean: bool, yes: bool, dry_run: bool, as_json: bool
) -> None:
    wanted = plan_elections(await survey(admin), topics, unclean)
    rows = [election_view(each) for each in wanted]
    if not as_json:
        _show(rows, unclean)
    if wanted and not dry_run:
        if not yes:
            _confirm(len(wanted), unclean)
        outcomes = await hold_elections(admin, wanted, unclean)
        rows = [{**row, "error": refusal and refusal.message} for row, refusal in zip(rows, outcomes, strict=True)]
    if as_json:
        show_json(rows)
    elif wanted and not dry_run:
        _report(rows)
    if any(row.get("error") for row in rows):
        raise Failure("not every partition has the leader that was asked for", "", ExitCode.REFUSED)


def _show(rows: list[dict[str, Any]], unclean: bool) -> None:
    named = [{**row, "partition": f"{row['topic']}-{row['partition']}"} for row in rows]
    columns = {"partition": "PARTITION", "leader": "LEADER NOW", "then": "THEN", "replicas": "REPLICAS", "isr": "ISR"}
    empty = "every partition that can have a leader has one" if unclean else "preferred replicas lead wherever they can"
    show_rows(named[:ROWS_MAX], columns, empty=empty)
    if len(rows) > ROWS_MAX:
        print(f"and {count_of(len(rows) - ROWS_MAX, 'partition')} more; --json lists all")
    if rows and unclean:
        remark(_UNCLEAN_WARNING)


def _confirm(count: int, unclean: bool) -> None:
    what = "Accept the loss and elect" if unclean else "Elect"
    if not typer.confirm(f"\n{what} {count_of(count, 'leader')}?"):
        raise Failure("nothing was changed", "answer y, or add --yes", ExitCode.REFUSED)


def _report(rows: list[dict[str, Any]]) -> None:
    failed = [row for row in rows if row["error"]]
    for row in failed:
        remark(f"{row['topic']}-{row['partition']}: {row['error']}")
    print(f"elected {count_of(len(rows) - len(failed), 'leader')}")
