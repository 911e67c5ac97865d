"""Views of the group commands: gathered as plain values (the JSON form), then laid out for people."""

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.admin import groups
from headrace.admin.admin import Admin
from headrace.admin.groups import GroupSeen
from headrace.admin.lag import PartitionLag, lag_of
from headrace.base.ids import TopicPartition
from headrace.cli.output import show_fields, show_rows


async def list_groups(admin: Admin) -> list[dict[str, Any]]:
    seen = await groups.describe_groups(admin, await groups.list_groups(admin))
    return [
        {"group": each.group, "state": each.state, "type": each.type, "members": len(each.members)} for each in seen
    ]


def member_rows(seen: GroupSeen) -> list[dict[str, Any]]:
    return [
        {
            "member": member.member_id,
            "instance": member.instance_id,
            "client": member.client_id,
            "host": member.host,
            "partitions": [str(each) for each in member.partitions],
        }
        for member in seen.members
    ]


async def describe_group(admin: Admin, name: str) -> dict[str, Any]:
    seen = await groups.describe_group(admin, name)
    lags = {each.id: each for each in await lag_of(admin, name)}
    owners = {id: member.member_id for member in seen.members for id in member.partitions}
    return {
        "group": name,
        "state": seen.state,
        "type": seen.type,
        "assignor": seen.assignor,
        "coordinator": seen.coordinator,
        "members": member_rows(seen),
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
