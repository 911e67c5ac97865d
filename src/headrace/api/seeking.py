"""Places to read on from: an offset, a time or an end, as a place in each partition. An offset that is not there is told."""

from collections.abc import Sequence
from datetime import datetime

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.api.errors import ApiError, error_of
from headrace.api.positions import Seek

ASK_SECONDS = 30.0
_ENDS = {"earliest": confluent_kafka.OFFSET_BEGINNING, "latest": confluent_kafka.OFFSET_END}


def places_for(
    to: Seek,
    partitions: Sequence[TopicPartition],
    consumer: confluent_kafka.Consumer,
    seconds: float = ASK_SECONDS,
) -> list[TopicPartition]:
    try:
        if isinstance(to, str) and to in _ENDS:
            return [TopicPartition(each.topic, each.partition, _ENDS[to]) for each in partitions]
        if isinstance(to, datetime):
            return _at_time(to, partitions, consumer, seconds)
        if isinstance(to, int) and not isinstance(to, bool):
            return [_at_offset(to, each, consumer, seconds) for each in partitions]
    except KafkaException as failure:
        raise error_of(failure, f"looking for {to}") from None
    raise ApiError(f"{to!r} is no place in a topic", 'pass an offset, a datetime, "earliest" or "latest"')


def _at_time(
    to: datetime, partitions: Sequence[TopicPartition], consumer: confluent_kafka.Consumer, seconds: float
) -> list[TopicPartition]:
    asked = [TopicPartition(each.topic, each.partition, int(to.timestamp() * 1000)) for each in partitions]
    found = consumer.offsets_for_times(asked, timeout=seconds)
    for each in found:
        if each.error is not None:
            raise error_of(each.error, f"looking for {to} in {each.topic}-{each.partition}")
    return found


def _at_offset(
    offset: int, partition: TopicPartition, consumer: confluent_kafka.Consumer, seconds: float
) -> TopicPartition:
    """Checks that the offset is there: librdkafka would begin elsewhere, by auto.offset.reset, and say nothing."""
    ends = consumer.get_watermark_offsets(partition, seconds)
    if ends is None:
        raise error_of(KafkaError(KafkaError._TIMED_OUT), f"looking for offset {offset} of {partition.topic}")
    begin, end = ends
    if not begin <= offset <= end:
        name = f"{partition.topic}-{partition.partition}"
        raise ApiError(
            f"{name} has no offset {offset}: it begins at {begin} and its next message will be {end}",
            'choose one of these, a time, "earliest" or "latest"; partition= names the one the offset belongs to',
        )
    return TopicPartition(partition.topic, partition.partition, offset)
