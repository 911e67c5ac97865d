"""The view of `topic describe`: gathered as plain values (the JSON form), then laid out for people."""

from collections.abc import Mapping
from typing import Any

from headrace.admin.admin import TOPIC, Admin, Resource
from headrace.admin.configs import describe_configs
from headrace.admin.topics import TopicSeen, offset_ranges
from headrace.base.ids import TopicPartition
from headrace.cli.explain import explaining
from headrace.cli.messages.held import MOVED_SECONDS_MAX, seen_topic
from headrace.cli.output import count_of, show_fields, show_rows

Ranges = Mapping[TopicPartition, tuple[int | None, int | None]]


async def describe_topic(admin: Admin, name: str) -> dict[str, Any]:
    seen = await seen_topic(admin, name)
    ranges = await offset_ranges(admin, seen.ids, MOVED_SECONDS_MAX)
    with explaining(f"configs of {name}", name):
        configs = await describe_configs(admin, Resource(TOPIC, name))
    return {
        "topic": name,
        "id": seen.id,
        "internal": seen.is_internal,
        "partitions": _partition_rows(seen, ranges),
        "configs": [{"name": each.name, "value": each.value, "source": each.source} for each in configs],
    }


def _partition_rows(seen: TopicSeen, ranges: Ranges) -> list[dict[str, Any]]:
    return [
        {
            "partition": part.partition_index,
            "leader": part.leader_id if part.leader_id >= 0 else None,
            "replicas": list(part.replica_nodes),
            "isr": list(part.isr_nodes),
            "start_offset": ranges[id][0],
            "end_offset": ranges[id][1],
        }
        for id, part in zip(seen.ids, seen.partitions, strict=True)
    ]


def show_topic(view: dict[str, Any], all_configs: bool) -> None:
    partitions = view["partitions"]
    messages = sum((part["end_offset"] or 0) - (part["start_offset"] or 0) for part in partitions)
    show_fields(
        {
            "topic": view["topic"],
            "id": view["id"],
            "partitions": len(partitions),
            "offsets held": f"{messages:,}",
            "internal": view["internal"],
        }
    )
    print()
    columns = {
        "partition": "PARTITION",
        "leader": "LEADER",
        "replicas": "REPLICAS",
        "isr": "ISR",
        "start_offset": "START",
        "end_offset": "END",
    }
    show_rows(partitions, columns)
    shown = [config for config in view["configs"] if all_configs or config["source"] != "default"]
    hidden = len(view["configs"]) - len(shown)
    if shown:
        print()
        show_rows(shown, {"name": "CONFIG", "value": "VALUE", "source": "SOURCE"})
    if hidden:
        print(f"\n{count_of(hidden, 'config')} at the default; --all-configs shows them")
