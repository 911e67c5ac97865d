"""Changes of topics: made, altered and deleted; a refusal says what was not done."""

from collections.abc import Mapping, Sequence
from typing import Any

import typer

from headrace.admin import topics
from headrace.admin.admin import TOPIC, Admin, Resource
from headrace.cli.explain import explaining
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.held import MOVED_SECONDS_MAX, seen_topic
from headrace.cli.output import count_of, show_rows
from headrace.client.kafka_cluster import NEWS_SECONDS_MAX
from headrace.client.retry import insist


async def create_topic(
    admin: Admin, name: str, partitions: int | None, replication_factor: int | None, configs: Mapping[str, str]
) -> topics.TopicSeen:
    with explaining(f"topic {name} was not created", name):
        await topics.create_topic(admin, name, partitions, replication_factor, configs)
    with explaining(f"topic {name} was created, but not seen", name):
        # The broker that is asked may not have heard of it yet.
        return await insist(lambda: topics.find_topic(admin, name), NEWS_SECONDS_MAX)


async def alter_topic(admin: Admin, name: str, changes: Mapping[str, str | None], partitions: int | None) -> None:
    if changes:
        with explaining(f"topic {name} was not altered", name):
            await admin.alter_configs({Resource(TOPIC, name): changes})
    if partitions is not None:
        with explaining(f"topic {name} got no new partitions", name):
            await topics.add_partitions(admin, name, partitions)


async def delete_topics(admin: Admin, names: Sequence[str], yes: bool) -> list[dict[str, Any]]:
    """Rows of what went; without `yes` they are shown and agreed to before anything goes."""
    rows = [await _deleted_row(admin, name) for name in names]
    if not yes:
        _confirm(rows)
    for name in names:
        with explaining(f"topic {name} was not deleted", name):
            await topics.delete_topic(admin, name)
    return rows


async def _deleted_row(admin: Admin, name: str) -> dict[str, Any]:
    seen = await seen_topic(admin, name)
    ranges = await topics.offset_ranges(admin, seen.ids, MOVED_SECONDS_MAX)
    messages = sum((end or 0) - (start or 0) for start, end in ranges.values())
    return {"topic": name, "partitions": len(seen.partitions), "messages": messages}


def _confirm(rows: Sequence[dict[str, Any]]) -> None:
    show_rows(rows, {"topic": "TOPIC", "partitions": "PARTITIONS", "messages": "MESSAGES"})
    messages = sum(row["messages"] for row in rows)
    question = f"Delete {count_of(len(rows), 'topic')} with {count_of(messages, 'message')}? There is no way back."
    if not typer.confirm(question):
        raise Failure("nothing was deleted", "answer y, or add --yes", ExitCode.REFUSED)
