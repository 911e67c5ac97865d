"""`headrace topic delete-records`: for each partition, the offset that will be its first, and what goes."""

from collections.abc import Sequence
from typing import Any

import typer

from headrace.admin.admin import Admin
from headrace.base.ids import TopicPartition
from headrace.cli.explain import explaining
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.held import HeldOffsets, held_by, seen_topic
from headrace.cli.messages.start_at import StartAt, first_offset
from headrace.cli.output import count_of, show_rows
from headrace.client.writer_client import WriterClient

DELETION_SECONDS_MAX = 15.0


async def delete_records(
    admin: Admin, client: WriterClient, topic: str, chosen: Sequence[int], before: StartAt, yes: bool
) -> list[dict[str, Any]]:
    """Rows of what went; without `yes` they are shown and agreed to before anything goes."""
    rows = await _planned(admin, topic, chosen, before)
    if not yes:
        _confirm(topic, rows)
    wanted = {TopicPartition(topic, row["partition"]): row["then"] for row in rows if row["messages"]}
    with explaining(f"{topic} keeps records", topic):
        await client.delete_records(wanted, DELETION_SECONDS_MAX)
    return rows


async def _planned(admin: Admin, topic: str, chosen: Sequence[int], before: StartAt) -> list[dict[str, Any]]:
    existing = [id.partition for id in (await seen_topic(admin, topic)).ids]
    for each in chosen:
        if each not in existing:
            fix = f"it has 0 to {max(existing)}"
            raise Failure(f"{topic} has no partition {each}", fix, ExitCode.NOT_FOUND)
    held = await held_by(admin, topic, sorted(chosen or existing), before)
    return [_row(TopicPartition(topic, index), each, before) for index, each in held.items()]


def _row(id: TopicPartition, held: HeldOffsets, before: StartAt) -> dict[str, Any]:
    if held.start is None or held.end is None:
        raise Failure(f"{id} has no leader", "`headrace cluster status` shows why; try again", ExitCode.UNREACHABLE)
    then = first_offset(before, held.start, held.end, held.at_time)
    if then > held.end:
        raise Failure(
            f"{id} ends at offset {held.end}: nothing before {then} to delete",
            "give a smaller offset, or `--before latest` for all",
            ExitCode.REFUSED,
        )
    then = max(held.start, then)
    places = {"start": held.start, "then": then, "messages": then - held.start}
    return {"topic": id.topic, "partition": id.partition, **places}


def _confirm(topic: str, rows: Sequence[dict[str, Any]]) -> None:
    messages = sum(row["messages"] for row in rows)
    show_rows(rows, {"partition": "PARTITION", "start": "START", "then": "THEN", "messages": "MESSAGES"})
    if not typer.confirm(f"Delete {count_of(messages, 'message')} of {topic}? There is no way back."):
        raise Failure("nothing was deleted", "answer y, or add --yes", ExitCode.REFUSED)
