"""A job's progress as the offsets of a consumer group, for lag tools and the admin UI. For people who look, nothing else:
where a job goes on is said by its result."""

from collections.abc import Mapping

from headrace.base.ids import TopicPartition
from headrace.pipelines.kafka import Kafka
from headrace.spark.loop_thread import loop_thread
from headrace.spark.source.group_progress import ProgressGroup, commit_progress


def show_progress(kafka: Kafka, group: str, topic: str, offsets: Mapping[int, int]) -> None:
    where = ProgressGroup(group, kafka.bootstrap, tuple(sorted(kafka.options.items())))
    ends = {TopicPartition(topic, partition): offset for partition, offset in offsets.items()}
    loop_thread().run(commit_progress(where, ends))
