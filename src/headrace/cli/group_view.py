"""What the group commands show: gathered as plain values (the JSON form), then laid out for people."""

from collections.abc import Iterable, Mapping
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import ConsumerGroupDescription

from headrace.base.ids import TopicPartition
from headrace.cli.cluster_admin import with_admin
from headrace.cli.connection import REPLY_SECONDS, Connection, answer
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import count_of, show_fields, show_rows
from headrace.client.lag import PartitionLag, lag_of

STATES: dict[Any, str] = {
    ConsumerGroupState.PREPARING_REBALANCING: "preparing rebalance",
    ConsumerGroupState.COMPLETING_REBALANCING: "completing rebalance",
    ConsumerGroupState.STABLE: "stable",
    ConsumerGroupState.DEAD: "dead",
    ConsumerGroupState.EMPTY: "empty",
}
TYPES: dict[Any, str] = {ConsumerGroupType.CLASSIC: "classic", ConsumerGroupType.CONSUMER: "consumer"}
WITHOUT_MEMBERS = (ConsumerGroupState.EMPTY, ConsumerGroupState.DEAD)


def list_groups(connection: Connection) -> list[dict[str, Any]]:
    listed = answer(connection.admin.list_consumer_groups(request_timeout=REPLY_SECONDS), "the groups")
    if listed.errors:
        raise Failure(f"not all brokers told their groups: {listed.errors[0]}", "ask again", ExitCode.FAILED)
    names = sorted(each.group_id for each in listed.valid)
    types = {each.group_id: TYPES.get(each.type, "unknown") for each in listed.valid}
    return [
        {
            "group": each.group_id,
            "state": _state(each),
            "type": types[each.group_id],
            "members": len(each.members),
        }
        for each in _described(connection, names)
    ]


def _described(connection: Connection, names: list[str]) -> list[ConsumerGroupDescription]:
    if not names:
        return []
    futures = connection.admin.describe_consumer_groups(names, request_timeout=REPLY_SECONDS)
    return [answer(futures[name], f"group {name}") for name in names]


def _state(described: ConsumerGroupDescription) -> str:
    # confluent-kafka has no names for the two states in which a next-generation group moves.
    moving = "reconciling" if described.type == ConsumerGroupType.CONSUMER else "unknown"
    return STATES.get(described.state, moving)


def find_group(connection: Connection, name: str) -> ConsumerGroupDescription:
    """To the protocol a group that nobody ever saw is a dead one."""
    (described,) = _described(connection, [name])
    if described.state == ConsumerGroupState.DEAD:
        raise Failure(f"there is no group {name}", "`headrace group list` shows the groups", ExitCode.NOT_FOUND)
    return described


def require_no_members(described: ConsumerGroupDescription) -> None:
    if described.state not in WITHOUT_MEMBERS:
        name = described.group_id
        raise Failure(
            f"group {name} has {count_of(len(described.members), 'active member')}",
            f"stop them first; `headrace group members {name}` shows them",
            ExitCode.REFUSED,
        )


def member_rows(described: ConsumerGroupDescription) -> list[dict[str, Any]]:
    return [
        {
            "member": member.member_id,
            "instance": member.group_instance_id,
            "client": member.client_id,
            "host": member.host.lstrip("/"),
            "partitions": [str(TopicPartition(each.topic, each.partition)) for each in _assigned(member)],
        }
        for member in sorted(described.members, key=lambda member: member.member_id)
    ]


def _assigned(member: Any) -> list[Any]:
    return sorted(member.assignment.topic_partitions, key=lambda each: (each.topic, each.partition))


def describe_group(bootstrap: str, name: str) -> dict[str, Any]:
    connection = Connection(bootstrap)
    described = find_group(connection, name)
    lags = {each.id: each for each in with_admin(bootstrap, lambda admin: lag_of(admin, name))}
    owners = {
        TopicPartition(each.topic, each.partition): member.member_id
        for member in described.members
        for each in member.assignment.topic_partitions
    }
    return {
        "group": name,
        "state": _state(described),
        "type": TYPES.get(described.type, "unknown"),
        "assignor": described.partition_assignor or None,
        "coordinator": described.coordinator.id,
        "members": member_rows(described),
        "partitions": [_partition_row(id, lags.get(id), owners) for id in sorted({*lags, *owners})],
    }


def _partition_row(
    id: TopicPartition, lag: PartitionLag | None, owners: Mapping[TopicPartition, str]
) -> dict[str, Any]:
    return {
        "topic": id.topic,
        "partition": id.partition,
        "committed": lag.committed if lag else None,
        "end": lag.end if lag else None,
        "lag": lag.lag if lag else None,
        "metadata": lag.metadata if lag else "",
        "member": owners.get(id),
    }


def lag_by_topic(partitions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    by_topic: dict[str, list[int]] = {}
    for row in partitions:
        by_topic.setdefault(row["topic"], []).append(row["lag"] or 0)
    return [
        {"topic": topic, "partitions": len(lags), "lag": sum(lags), "worst": max(lags)}
        for topic, lags in by_topic.items()
    ]


def show_group(view: dict[str, Any]) -> None:
    fields = {name: view[name] for name in ("group", "state", "type", "assignor", "coordinator")}
    total = sum(row["lag"] or 0 for row in view["partitions"])
    show_fields({**fields, "members": len(view["members"]), "lag": f"{total:,}"})
    print()
    columns = {
        "topic": "TOPIC",
        "partition": "PARTITION",
        "committed": "COMMITTED",
        "end": "END",
        "lag": "LAG",
        "member": "MEMBER",
    }
    show_rows(view["partitions"], columns, empty="it has committed nothing, and reads nothing")
