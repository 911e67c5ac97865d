"""Committed offsets of consumer groups, carried over to a mirror: the same place in the copy, by the mirror's own notes.

A group that has members on the target is left alone: it has moved over, and its commits there are newer than ours.
"""

from collections.abc import Sequence

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from headrace.base import ids
from headrace.base.errors import UserError
from headrace.pipelines.kafka import Kafka, look_at
from headrace.pipelines.offset_runs import Run, runs_in, target_offset
from headrace.pipelines.records import read_records
from headrace.spark.ranges import OffsetRange

NOTES = "headrace.mirror.offsets"
ADMIN_SECONDS = 30


def carry_over(
    source: Kafka, target: Kafka, cluster_id: str, topics: Sequence[str], prefix: str, groups: Sequence[str]
) -> int:
    """How many groups were given their offsets on the target."""
    if not groups:
        return 0
    notes = read_notes(target)
    here, there = AdminClient(source.client_config()), AdminClient(target.client_config())
    carried = 0
    for group in groups:
        places = []
        for place in _committed(here, group):
            if place.topic not in topics:
                continue
            runs = mirrored_runs(notes, cluster_id, place.topic, place.partition, prefix)
            offset = target_offset(runs, place.offset)
            if offset is not None:
                places.append(TopicPartition(prefix + place.topic, place.partition, offset))
        carried += bool(places) and _commit(there, group, places)
    return carried


def mirrored_runs(
    notes: Sequence[tuple[bytes, bytes]], cluster_id: str, topic: str, partition: int, prefix: str = ""
) -> list[Run]:
    about = {"cluster": cluster_id, "topic": topic, "partition": str(partition), "prefix": prefix}
    return runs_in(notes, about)


def read_notes(target: Kafka) -> list[tuple[bytes, bytes]]:
    view = look_at(target, NOTES)
    whole = OffsetRange(ids.TopicPartition(NOTES, 0), view.start[0], view.end[0])
    return [
        (key, value)
        for rows in read_records(target, whole)
        for key, value in zip(rows.column("key").to_pylist(), rows.column("value").to_pylist(), strict=True)
    ]


def _committed(admin: AdminClient, group: str) -> list[TopicPartition]:
    asked = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)], request_timeout=ADMIN_SECONDS)
    try:
        found = asked[group].result(ADMIN_SECONDS)
    except KafkaException as error:
        raise UserError(f"group {group}: {error.args[0].str()}", "`headrace group list` shows the groups") from None
    return [place for place in found.topic_partitions or () if place.offset >= 0]


def _commit(admin: AdminClient, group: str, places: list[TopicPartition]) -> bool:
    wanted = ConsumerGroupTopicPartitions(group, places)
    try:
        admin.alter_consumer_group_offsets([wanted], request_timeout=ADMIN_SECONDS)[group].result(ADMIN_SECONDS)
    except KafkaException:
        # It has members here.
        return False
    return True
