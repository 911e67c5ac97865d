"""The plan of `headrace topic delete-records`: for each partition, the offset that will be its first, and what goes."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from headrace.cli.connection import Connection, answer
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.start_at import StartAt, first_offset


def deletion_plan(connection: Connection, topic: str, chosen: Sequence[int], before: StartAt) -> list[dict[str, Any]]:
    existing = [partition.id for partition in connection.describe([topic])[0].partitions]
    for each in chosen:
        if each not in existing:
            fix = f"it has 0 to {max(existing)}"
            raise Failure(f"{topic} has no partition {each}", fix, ExitCode.NOT_FOUND)
    keys = [(topic, each) for each in sorted(chosen or existing)]
    ranges = connection.offset_ranges(keys)
    times: dict[tuple[str, int], int | None] = {}
    if before.kind == "time":
        times = connection.offsets({key: OffsetSpec.for_timestamp(before.number) for key in keys})
    return [_row(key, ranges[key], before, times.get(key)) for key in keys]


def _row(
    key: tuple[str, int], held: tuple[int | None, int | None], before: StartAt, by_time: int | None
) -> dict[str, Any]:
    topic, partition = key
    start, end = held
    if start is None or end is None:
        raise Failure(
            f"{topic}-{partition} has no leader", "`headrace cluster status` shows why; try again", ExitCode.UNREACHABLE
        )
    then = first_offset(before, start, end, by_time)
    if then > end:
        raise Failure(
            f"{topic}-{partition} ends at offset {end}: nothing before {then} to delete",
            "give a smaller offset, or `--before latest` for all",
            ExitCode.REFUSED,
        )
    then = max(start, then)
    return {"topic": topic, "partition": partition, "start": start, "then": then, "messages": then - start}


def delete_records(connection: Connection, plan: Sequence[dict[str, Any]]) -> None:
    wanted = [TopicPartition(row["topic"], row["partition"], row["then"]) for row in plan if row["messages"]]
    if not wanted:
        return
    for place, future in connection.admin.delete_records(wanted).items():
        answer(future, f"{place.topic}-{place.partition} keeps its records", place.topic)
