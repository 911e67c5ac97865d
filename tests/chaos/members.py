"""Groups through the storm: members that commit what they read. A commit that was acknowledged is never forgotten, and
what is below a commit was given to somebody."""

import contextlib
from collections import defaultdict

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from chaos.cluster import Cluster
from chaos.guest import Guest
from chaos.ledger import Place
from eventually import until

CALL_SECONDS = 10.0
DRAIN_SECONDS = 120.0
_SOON = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "socket.timeout.ms": 3_000, "log_level": 0}
_CLASSIC = {"group.protocol": "classic", "session.timeout.ms": 6_000}
_NEXT_GENERATION = {"group.protocol": "consumer"}


class Members(Guest):
    """Two members of one group; `protocol` is that of the group."""

    threads = 2

    def __init__(self, topic: str, protocol: str) -> None:
        super().__init__()
        self._topic = topic
        self._protocol = _CLASSIC if protocol == "classic" else _NEXT_GENERATION
        self._group = f"members-{protocol}"
        self._committed: defaultdict[Place, int] = defaultdict(int)
        self._given: defaultdict[Place, set[int]] = defaultdict(set)

    @property
    def name(self) -> str:
        return self._group

    def prepare(self) -> None:
        """Reads what the ledger's load writes: there is nothing to make."""

    def work(self, number: int) -> None:
        while not self.stopping.is_set():
            # Fatal for a client (it was fenced, say): the next one takes its place.
            with contextlib.suppress(KafkaException):
                self._read()

    def _read(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.cluster.bootstrap,
                "group.id": self._group,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **self._protocol,
                **_SOON,
                **self.cluster.login.librdkafka,
            }
        )
        try:
            consumer.subscribe([self._topic])
            while not self.stopping.is_set():
                messages = consumer.consume(500, timeout=0.2)
                if any(each.error() is not None and each.error().fatal() for each in messages):
                    return
                self._take(consumer, [each for each in messages if each.error() is None])
        finally:
            consumer.close()

    def _take(self, consumer: Consumer, messages: list[Message]) -> None:
        if not messages:
            return
        ends: dict[Place, int] = {}
        with self.lock:
            for message in messages:
                place = message.topic(), message.partition()
                self._given[place].add(message.offset())
                ends[place] = message.offset() + 1
        offsets = [TopicPartition(*place, offset) for place, offset in ends.items()]
        try:
            answered = consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException:
            # Another has the partition by now, or nobody answers: it was not acknowledged, and is read again.
            return
        with self.lock:
            for each in answered:
                if each.error is None:
                    place = each.topic, each.partition
                    self._committed[place] = max(self._committed[place], each.offset)
                    self.done += 1

    def finish(self) -> None:
        """Nothing is left to read, and all of it is committed."""
        ends = self._ends()
        until(
            lambda: self._stored() == ends,
            seconds=DRAIN_SECONDS,
            otherwise=lambda: f"{self.name}: {self._stored()} of {ends}",
        )

    def check(self) -> list[str]:
        stored = self._stored()
        forgotten = [
            f"{self.name}: {place}: {offset} was committed, and {stored.get(place)} is"
            for place, offset in self._committed.items()
            if stored.get(place, -1) < offset
        ]
        skipped = [
            f"{self.name}: {place}: {end - len(self._given[place])} records below {end} were given to nobody"
            for place, end in stored.items()
            if len(self._given[place]) < end
        ]
        return forgotten + skipped

    def _ends(self) -> dict[Place, int]:
        with _plain_consumer(self.cluster, self._group) as consumer:
            topic = consumer.list_topics(self._topic, timeout=CALL_SECONDS).topics[self._topic]
            places = [TopicPartition(self._topic, number) for number in topic.partitions]
            return {(each.topic, each.partition): consumer.get_watermark_offsets(each)[1] for each in places}

    def _stored(self) -> dict[Place, int]:
        with _plain_consumer(self.cluster, self._group) as consumer:
            topic = consumer.list_topics(self._topic, timeout=CALL_SECONDS).topics[self._topic]
            places = [TopicPartition(self._topic, number) for number in topic.partitions]
            try:
                found = consumer.committed(places, timeout=CALL_SECONDS)
            except KafkaException:
                return {}
            return {(each.topic, each.partition): each.offset for each in found}


@contextlib.contextmanager
def _plain_consumer(cluster: Cluster, group: str):
    brokers = {"bootstrap.servers": cluster.bootstrap, **cluster.login.librdkafka}
    consumer = Consumer({**brokers, "group.id": group, **_SOON})
    try:
        yield consumer
    finally:
        consumer.close()
