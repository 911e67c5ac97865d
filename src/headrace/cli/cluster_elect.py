"""Elections on demand: which partitions would get which leader, agreed to, then asked for."""

from collections.abc import Sequence
from typing import Any

import typer

from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, remark, show_json, show_rows
from headrace.client.admin import Admin
from headrace.client.survey import PartitionSeen, Survey, survey
from headrace.cluster.leadership import ElectionType

ROWS_MAX = 50
_UNCLEAN_WARNING = (
    "\nwarning: none of the in-sync replicas of these partitions is alive. Whoever leads now may lack messages that\n"
    "were acknowledged, and when the others come back, theirs are cut off. Start the missing brokers instead if you can."
)


async def elect_leaders(
    admin: Admin, topics: Sequence[str], unclean: bool, yes: bool, dry_run: bool, as_json: bool
) -> None:
    seen = await survey(admin)
    wanted = [each for each in _of_topics(seen, topics) if (_needs_any if unclean else _needs_preferred)(each, seen)]
    rows = [_row(each, unclean, seen) for each in wanted]
    if not as_json:
        _show(rows, unclean)
    if wanted and not dry_run:
        if not yes:
            _confirm(len(wanted), unclean)
        rows = await _elect(admin, wanted, rows, unclean)
    if as_json:
        show_json(rows)
    elif wanted and not dry_run:
        _report(rows)
    if any(row.get("error") for row in rows):
        raise Failure("not every partition has the leader that was asked for", "", ExitCode.REFUSED)


def _of_topics(seen: Survey, topics: Sequence[str]) -> list[PartitionSeen]:
    known = {each.id.topic for each in seen.partitions.values()}
    for topic in topics:
        if topic not in known:
            raise Failure(f"there is no topic {topic}", "`headrace topic list` shows them", ExitCode.NOT_FOUND)
    return [each for each in seen.partitions.values() if not topics or each.id.topic in topics]


def _needs_preferred(each: PartitionSeen, seen: Survey) -> bool:
    return each.leader != each.replicas[0] and each.replicas[0] in each.isr and _is_alive(each.replicas[0], seen)


def _needs_any(each: PartitionSeen, seen: Survey) -> bool:
    return each.leader is None and any(_is_alive(replica, seen) for replica in each.replicas)


def _is_alive(broker_id: int, seen: Survey) -> bool:
    return broker_id in seen.brokers and seen.brokers[broker_id].is_alive


def _row(each: PartitionSeen, unclean: bool, seen: Survey) -> dict[str, Any]:
    alive = [replica for replica in each.replicas if _is_alive(replica, seen)]
    return {
        "topic": each.id.topic,
        "partition": each.id.partition,
        "leader": each.leader,
        "then": alive[0] if unclean else each.replicas[0],
        "replicas": list(each.replicas),
        "isr": list(each.isr),
    }


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


async def _elect(
    admin: Admin, wanted: Sequence[PartitionSeen], rows: list[dict[str, Any]], unclean: bool
) -> list[dict[str, Any]]:
    kind = ElectionType.UNCLEAN if unclean else ElectionType.PREFERRED
    outcomes = await admin.elect(kind, [each.id for each in wanted])
    return [
        {**row, "error": refusal.message if (refusal := outcomes.get(each.id)) is not None else None}
        for each, row in zip(wanted, rows, strict=True)
    ]


def _report(rows: list[dict[str, Any]]) -> None:
    failed = [row for row in rows if row["error"]]
    for row in failed:
        remark(f"{row['topic']}-{row['partition']}: {row['error']}")
    print(f"elected {count_of(len(rows) - len(failed), 'leader')}")
