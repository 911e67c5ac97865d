"""Offsets as Spark's Kafka connector writes them: {"topic": {"0": 23, "1": -1}}, -2 for earliest, -1 for latest.

Spark compares them as text, so topics and partitions always come in the same order. What we write also names the
cluster, as a topic without partitions under a name that no topic can have: so that a checkpoint is not taken for that of
another cluster, and whoever walks over topics and partitions meets nothing new. A later form will say so with another
such name; it is refused here.
"""

import json
from collections.abc import Mapping
from typing import Any

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.base.other_format import other_format

VERSION = 1
_CLUSTER = "cluster:"

Offsets = dict[TopicPartition, int]


def offsets_to_json(offsets: Mapping[TopicPartition, int], cluster_id: str = "") -> dict[str, dict[str, int]]:
    told: dict[str, dict[str, int]] = {f"{_CLUSTER}{cluster_id}": {}} if cluster_id else {}
    for id in sorted(offsets):
        told.setdefault(id.topic, {})[str(id.partition)] = offsets[id]
    return told


def offsets_from_json(told: Mapping[str, Mapping[str, int]]) -> Offsets:
    unknown = [name for name in told if ":" in name and not name.startswith(_CLUSTER)]
    if unknown:
        raise other_format("this checkpoint", unknown[0], VERSION)
    return {
        TopicPartition(topic, int(partition)): offset
        for topic, partitions in told.items()
        if not topic.startswith(_CLUSTER)
        for partition, offset in partitions.items()
    }


def cluster_of(told: Mapping[str, Any]) -> str:
    """The cluster that these offsets belong to; empty when they do not say, as those of Spark's own connector."""
    return next((key.removeprefix(_CLUSTER) for key in told if key.startswith(_CLUSTER)), "")


def parse_offsets(option: str, text: str) -> Offsets:
    """The JSON of an option, or UserError with an example of what it should be."""
    fix = f'for example {option}={{"orders":{{"0":23,"1":-2}}}}'
    try:
        return {
            TopicPartition(topic, int(partition)): _integer(offset)
            for topic, partitions in json.loads(text).items()
            for partition, offset in partitions.items()
        }
    except (ValueError, AttributeError, TypeError) as error:
        raise UserError(f"{option}={text} is not JSON of topics, partitions and offsets: {error}", fix) from error


def parse_partitions(option: str, text: str) -> list[TopicPartition]:
    try:
        return sorted(
            TopicPartition(topic, _integer(partition))
            for topic, partitions in json.loads(text).items()
            for partition in partitions
        )
    except (ValueError, AttributeError, TypeError) as error:
        fix = f'for example {option}={{"orders":[0,1]}}'
        raise UserError(f"{option}={text} is not JSON of topics and partitions: {error}", fix) from error


def _integer(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{value!r} is not a whole number")
    return value
