"""Messages of a topic without a group: from a place, to the end or for ever; nothing is committed."""

import threading
from collections.abc import Iterator, Mapping, Sequence

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headrace.api.errors import error_of
from headrace.api.message import Message, message_of
from headrace.api.options import kafka_config, made
from headrace.api.positions import Seek
from headrace.api.process import OfThisProcess
from headrace.api.seeking import places_for

POLL_SECONDS, MESSAGES_MAX = 0.1, 500
# librdkafka wants a name even where no group is joined; nothing is ever committed under it.
OWN = {"group.id": "headrace-fetch", "enable.auto.commit": False, "enable.partition.eof": True}


class Fetching(OfThisProcess):
    """Reads in steps that wait for POLL_SECONDS at most; `close` it at its end."""

    def __init__(
        self,
        config: Mapping[str, object],
        topic: str,
        partitions: Sequence[int],
        stop_at_end: bool,
        stopping: threading.Event,
    ) -> None:
        own = kafka_config({"auto.offset.reset": "earliest"}, config, OWN)
        self._consumer = made(confluent_kafka.Consumer, own)
        super().__init__(self._consumer)
        self._topic, self._partitions = topic, partitions
        self._unread = set(partitions)
        self._stop_at_end, self._stopping = stop_at_end, stopping

    @property
    def is_stopped(self) -> bool:
        return self._stopping.is_set()

    @property
    def is_over(self) -> bool:
        return self.is_stopped or (self._stop_at_end and not self._unread)

    def begin(self, start: Seek) -> None:
        partitions = [TopicPartition(self._topic, each) for each in self._partitions]
        try:
            self._consumer.assign(places_for(start, partitions, self._consumer))
        except KafkaException as failure:
            raise error_of(failure, f"reading {self._topic}") from None

    def poll(self) -> list[Message]:
        self.check_process()
        try:
            first = self._consumer.consume(1, POLL_SECONDS)
            read = first + self._consumer.consume(MESSAGES_MAX, 0) if first else []
        except KafkaException as failure:
            raise error_of(failure, f"reading {self._topic}") from None
        return [message_of(each) for each in read if not self._is_event(each)]

    def close(self) -> None:
        if not self.is_of_parent:
            self._consumer.close()

    def _is_event(self, read: confluent_kafka.Message) -> bool:
        error = read.error()
        if error is None:
            return False
        if error.code() == KafkaError._PARTITION_EOF:
            self._unread.discard(read.partition() or 0)
        # librdkafka looks for the coordinator of a group that is never joined, and may not be this user's to read.
        elif not error.retriable() and error.code() != KafkaError.GROUP_AUTHORIZATION_FAILED:
            raise error_of(error, f"reading {self._topic}")
        return True


def fetched(fetching: Fetching, start: Seek) -> Iterator[Message]:
    try:
        fetching.begin(start)
        while not fetching.is_over:
            for message in fetching.poll():
                if fetching.is_stopped:
                    return
                yield message
    finally:
        fetching.close()
