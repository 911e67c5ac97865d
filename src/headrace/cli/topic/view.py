"""The view of `topic describe`: gathered as plain values (the JSON form), then laid out for people."""

from collections.abc import Sequence
from typing import Any

from confluent_kafka.admin import ConfigResource, ConfigSource, ResourceType, TopicDescription

from headrace.cli.connection import Connection, answer
from headrace.cli.output import count_of, show_fields, show_rows

SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG: "topic",
    ConfigSource.DYNAMIC_BROKER_CONFIG: "broker (dynamic)",
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG: "cluster (dynamic)",
    ConfigSource.STATIC_BROKER_CONFIG: "broker",
    ConfigSource.DEFAULT_CONFIG: "default",
}


def describe_topics(connection: Connection, names: Sequence[str]) -> list[dict[str, Any]]:
    described = connection.describe(names)
    ranges = connection.offset_ranges((topic.name, part.id) for topic in described for part in topic.partitions)
    configs = _configs(connection, names)
    return [_view(topic, ranges, configs[topic.name]) for topic in described]


def _view(
    topic: TopicDescription, ranges: dict[tuple[str, int], tuple[int | None, int | None]], configs: list[dict[str, Any]]
) -> dict[str, Any]:
    partitions = [
        {
            "partition": part.id,
            "leader": part.leader.id if part.leader is not None and part.leader.id >= 0 else None,
            "replicas": [node.id for node in part.replicas],
            "isr": [node.id for node in part.isr],
            "start_offset": ranges[topic.name, part.id][0],
            "end_offset": ranges[topic.name, part.id][1],
        }
        for part in sorted(topic.partitions, key=lambda part: part.id)
    ]
    return {
        "topic": topic.name,
        "id": _printed_id(str(topic.topic_id)),
        "internal": topic.is_internal,
        "partitions": partitions,
        "configs": configs,
    }


def _printed_id(base64: str) -> str:
    """librdkafka prints ids in plain base64; Kafka's tools and our own files use the one that is safe in paths."""
    return base64.replace("+", "-").replace("/", "_")


def _configs(connection: Connection, names: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    futures = connection.admin.describe_configs(resources)
    return {
        resource.name: [
            {
                "name": entry.name,
                "value": None if entry.is_sensitive else entry.value,
                "source": SOURCES.get(ConfigSource(entry.source), "unknown"),
            }
            for entry in sorted(
                answer(future, f"configs of {resource.name}", resource.name).values(), key=lambda e: e.name
            )
        ]
        for resource, future in futures.items()
    }


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
