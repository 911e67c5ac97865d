"""Committed offsets of consumer groups, carried over to a mirror: the same place in the copy, by the mirror's own notes.

A group that has members on the target is left alone: it has moved over, and its commits there are newer than ours.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from headrace.admin.admin import Admin
from headrace.admin.coordinators import is_moving
from headrace.admin.groups import NewCommit, commit
from headrace.admin.lag import committed_by
from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.client.retry import insist
from headrace.pipelines.copying import sink_of
from headrace.pipelines.kafka import Kafka, ask_admin, look_at_all
from headrace.pipelines.offset_runs import OffsetRun, runs_in, target_offset
from headrace.pipelines.records import read_records
from headrace.spark.source.ranges import OffsetRange
from headrace.wire.codes import ErrorCode

NOTES = "headrace.mirror.offsets"
COORDINATOR_SECONDS_MAX = 60.0

T = TypeVar("T")


def carry_over(
    source: Kafka, target: Kafka, cluster_id: str, topics: Sequence[str], prefix: str, groups: Sequence[str]
) -> int:
    """Gives groups their offsets on the target; returns the number of groups."""
    if not groups:
        return 0
    notes = read_notes(target)
    carried = 0
    for group in groups:
        places = {}
        for id, committed in _asked(source, partial(committed_by, group=group)).items():
            if id.topic in topics:
                runs = mirrored_runs(notes, cluster_id, id.topic, id.partition, prefix)
                offset = target_offset(runs, committed.offset)
                if offset is not None:
                    places[TopicPartition(prefix + id.topic, id.partition)] = NewCommit(offset)
        carried += bool(places) and _commit(target, group, places)
    return carried


def mirrored_runs(
    notes: Sequence[tuple[bytes, bytes]], cluster_id: str, topic: str, partition: int, prefix: str = ""
) -> list[OffsetRun]:
    about = {"cluster": cluster_id, "topic": topic, "partition": str(partition), "prefix": prefix}
    return runs_in(notes, about)


def read_notes(target: Kafka) -> list[tuple[bytes, bytes]]:
    """The notes of every piece that was copied. Mirrors share the topic, so one may wait for a transaction of another."""
    view = look_at_all(target, NOTES, sink_of(target).transaction_timeout_ms / 1000 + COORDINATOR_SECONDS_MAX)
    whole = OffsetRange(TopicPartition(NOTES, 0), view.start[0], view.end[0])
    return [
        (key, value)
        for rows in read_records(target, whole)
        for key, value in zip(rows.column("key").to_pylist(), rows.column("value").to_pylist(), strict=True)
    ]


def _commit(target: Kafka, group: str, places: Mapping[TopicPartition, NewCommit]) -> bool:
    """Commits the places of a group; False where it has members."""
    refused = _asked(target, partial(commit, group=group, offsets=places))
    for id, refusal in refused.items():
        if refusal.code != ErrorCode.UNKNOWN_MEMBER_ID:
            raise UserError(f"group {group} on the target does not take its offset of {id}: {refusal.message}")
    return not refused


def _asked(kafka: Kafka, ask: Callable[[Admin], Awaitable[T]]) -> T:
    """The answer to a question, asked again for long: a coordinator that moves may be away for a while."""
    return ask_admin(kafka, lambda admin: insist(lambda: ask(admin), COORDINATOR_SECONDS_MAX, passes=is_moving))
