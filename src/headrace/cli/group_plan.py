"""A reset of a group: what it has committed now, what it will have, and what that skips or repeats."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions
from confluent_kafka import TopicPartition as KafkaPartition
from confluent_kafka.admin import OffsetSpec

from headrace.base.ids import TopicPartition
from headrace.cli.cluster_admin import with_admin
from headrace.cli.connection import REPLY_SECONDS, Connection, answer
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.group_view import require_no_members
from headrace.cli.output import count_of, show_rows
from headrace.cli.reset_target import Target
from headrace.client.lag import committed_by


class Reset(NamedTuple):
    id: TopicPartition
    before: int | None
    after: int

    @property
    def skipped(self) -> int:
        return max(0, self.after - self.before) if self.before is not None else 0

    @property
    def repeated(self) -> int:
        return max(0, self.before - self.after) if self.before is not None else 0

    def view(self) -> dict[str, Any]:
        return {
            "topic": self.id.topic,
            "partition": self.id.partition,
            "before": self.before,
            "after": self.after,
            "skipped": self.skipped,
            "repeated": self.repeated,
        }


class GroupPlan(NamedTuple):
    connection: Connection
    group: str
    resets: Sequence[Reset]

    def view(self, applied: bool) -> dict[str, Any]:
        return {"group": self.group, "applied": applied, "partitions": [reset.view() for reset in self.resets]}

    def show(self) -> None:
        columns = {
            "topic": "TOPIC",
            "partition": "PARTITION",
            "before": "NOW",
            "after": "THEN",
            "skipped": "SKIPPED",
            "repeated": "REPEATED",
        }
        show_rows([reset.view() for reset in self.resets], columns)
        skipped, repeated = sum(each.skipped for each in self.resets), sum(each.repeated for each in self.resets)
        print(f"\n{count_of(skipped, 'message')} would be skipped, {count_of(repeated, 'message')} read again")


def make_plan(bootstrap: str, group: str, topics: Sequence[str], target: Target) -> GroupPlan:
    connection = Connection(bootstrap)
    described = answer(connection.admin.describe_consumer_groups([group])[group], f"group {group}")
    require_no_members(described)
    commits = with_admin(bootstrap, lambda admin: committed_by(admin, group))
    before = {id: commit.offset for id, commit in commits.items()}
    wanted = _wanted(connection, topics, target, before)
    if not wanted:
        unknown = described.state == ConsumerGroupState.DEAD
        cause = f"there is no group {group}" if unknown else f"group {group} has committed nothing"
        raise Failure(cause, "name the topics to begin with: --topic TOPIC", ExitCode.NOT_FOUND)
    return GroupPlan(connection, group, _resets(connection, wanted, before, target))


def _wanted(
    connection: Connection, topics: Sequence[str], target: Target, before: Collection[TopicPartition]
) -> list[TopicPartition]:
    named = {id for text in topics for id in _partitions_of(connection, text)}
    known = set(target.offsets) if target.kind == "file" else set(before)
    if target.kind == "file" and named:
        return sorted(known & named)
    return sorted(named or known)


def _partitions_of(connection: Connection, text: str) -> list[TopicPartition]:
    topic, _, numbers = text.partition(":")
    existing = {part.id for part in connection.describe([topic])[0].partitions}
    try:
        chosen = {int(number) for number in numbers.split(",")} if numbers else existing
    except ValueError:
        raise Failure(f"--topic {text}: this is not TOPIC:0,1,…", "write --topic orders:0,2", ExitCode.USAGE) from None
    if not chosen <= existing:
        raise Failure(
            f"topic {topic} has no partition {min(chosen - existing)}",
            f"its partitions are 0 to {max(existing)}",
            ExitCode.NOT_FOUND,
        )
    return [TopicPartition(topic, number) for number in chosen]


def _resets(
    connection: Connection, wanted: Sequence[TopicPartition], before: Mapping[TopicPartition, int], target: Target
) -> list[Reset]:
    ranges = connection.offset_ranges(wanted)
    at_time: Mapping[tuple[str, int], int | None] = {}
    if target.kind == "time":
        at_time = connection.offsets({id: OffsetSpec.for_timestamp(target.number) for id in wanted})
    resets = []
    for id in wanted:
        start, end = ranges[id]
        if start is None or end is None:
            raise Failure(
                f"{id} does not exist, or has no leader that answers",
                f"`headrace topic describe {id.topic}` shows its partitions",
                ExitCode.NOT_FOUND,
            )
        after = target.offset(id, before.get(id), start, end, at_time.get(id))
        resets.append(Reset(id, before.get(id), after))
    return resets


def apply(plan: GroupPlan) -> None:
    """The broker refuses it too if a member has come meanwhile."""
    offsets = [KafkaPartition(each.id.topic, each.id.partition, each.after) for each in plan.resets]
    request = ConsumerGroupTopicPartitions(plan.group, offsets)
    futures = plan.connection.admin.alter_consumer_group_offsets([request], request_timeout=REPLY_SECONDS)
    done = answer(futures[plan.group], f"group {plan.group} was not reset")
    for each in done.topic_partitions:
        if each.error is not None:
            id = TopicPartition(each.topic, each.partition)
            raise Failure(f"{id} was not reset: {each.error.str()}", "look again with --dry-run", ExitCode.REFUSED)
