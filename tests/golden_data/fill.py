"""Writes a little of everything that a cluster can hold, for the golden data directories and for backups.

plain          two partitions with keys, headers, tombstones and old timestamps, one of them with its first records deleted
packed         one batch of each codec, and one of the broker's own timestamps
latest         compacted, with what compaction has left
outcomes       transactions that were committed and aborted, in two partitions
open           one that nobody has ended yet
relaxed        a topic whose acks rest on memory, in what `fill_newer` writes
"""

import asyncio
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from cluster_view import records_of
from eventually import collected, until
from headrace.admin.admin import BROKER, TOPIC, Admin, Resource
from headrace.admin.configs import ALL_BROKERS
from headrace.backup.features import set_feature_levels
from headrace.base.bootstrap import parse_bootstrap

SECONDS = 30.0
CODECS = ("gzip", "snappy", "lz4", "zstd")
LONG_AGO_MS = 1_500_000_000_000
KEEP = {"retention.ms": "-1"}
OLD_LEVEL = {"transaction.version": 1}
TAILED = ("plain", "packed", "latest", "relaxed")


class Filler:
    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        self._open: Producer | None = None

    def fill(self) -> None:
        self._make_topics()
        self._plain()
        self._packed()
        self._latest()
        self._outcomes()
        self._groups()

    def fill_newer(self) -> None:
        """What releases before 58a06ff do not know: a relaxed topic and another level of a feature."""
        asyncio.run(self._set_levels())
        made = self.admin.create_topics([NewTopic("relaxed", 1, config={**KEEP, "flush.messages": "1000000"})])
        made["relaxed"].result(SECONDS)
        producer = self._producer()
        for number in range(5):
            producer.produce("relaxed", b"value %d" % number, b"key", 0)
        _flushed(producer)

    async def _set_levels(self) -> None:
        admin = Admin(parse_bootstrap(self.bootstrap), "fill")
        await set_feature_levels(admin, OLD_LEVEL)
        admin.close()

    def begin_to_transact(self) -> None:
        """Left open: by whoever ends the broker, or this process."""
        producer = self._open = self._producer(**{"transactional.id": "left-open", "transaction.timeout.ms": 900_000})
        producer.init_transactions(SECONDS)
        producer.begin_transaction()
        producer.produce("outcomes", b"open 0", partition=0)
        producer.flush(SECONDS)

    def forget_open(self) -> None:
        """Without ending it."""
        if self._open is not None:
            self._open.purge()
            self._open = None

    def more(self, text: bytes) -> None:
        """Into every topic, so that a broker that is killed next has a tail above what is written down."""
        producer = self._producer()
        for topic in self.tailed():
            producer.produce(topic, text, text, 0)
        _flushed(producer)

    def tailed(self) -> list[str]:
        """The topics that `more` writes to: those of them that the release had."""
        there = self.admin.list_topics(timeout=SECONDS).topics
        return [each for each in TAILED if each in there]

    # -- topics ------------------------------------------------------------------------------------------------------

    def _make_topics(self) -> None:
        compacted = {
            "cleanup.policy": "compact",
            "segment.ms": "1000",
            "min.cleanable.dirty.ratio": "0.01",
            "min.compaction.lag.ms": "0",
        }
        stamped = {**KEEP, "message.timestamp.type": "LogAppendTime"}
        topics = {
            "plain": (2, KEEP),
            "packed": (1, KEEP),
            "stamped": (1, stamped),
            "latest": (1, compacted),
            "outcomes": (2, KEEP),
        }
        made = self.admin.create_topics(
            [NewTopic(name, count, 1, config=dict(config)) for name, (count, config) in topics.items()]
        )
        for future in made.values():
            future.result(SECONDS)
        asyncio.run(self._set(Resource(BROKER, ALL_BROKERS), {"log.retention.ms": "-1"}))

    async def _set(self, of: Resource, settings: dict[str, str]) -> None:
        admin = Admin(parse_bootstrap(self.bootstrap), "fill")
        await admin.alter_configs({of: settings})
        admin.close()

    def _plain(self) -> None:
        producer = self._producer(**{"enable.idempotence": True})
        for number in range(30):
            producer.produce(
                "plain",
                None if number % 7 == 6 else b"value %d" % number,
                None if number % 5 == 4 else b"key %d" % number,
                number % 2,
                timestamp=LONG_AGO_MS + number,
                headers=[("number", str(number).encode()), ("empty", None)],
            )
            if number % 6 == 5:
                _flushed(producer)
        _flushed(producer)
        where = TopicPartition("plain", 1, 8)
        self.admin.delete_records([where])[where].result(SECONDS)

    def _packed(self) -> None:
        for codec in CODECS:
            producer = self._producer(**{"compression.type": codec, "linger.ms": 500})
            for number in range(5):
                producer.produce("packed", f"{codec} {number} ".encode() * 10, codec.encode(), 0)
            _flushed(producer)
        producer = self._producer()
        producer.produce("stamped", b"by the broker", timestamp=LONG_AGO_MS)
        _flushed(producer)

    def _latest(self) -> None:
        """Rounds until the segments of the first ones are cleaned: their offsets have gaps then. No more from then on."""
        until(lambda: self._latest_round() and self._has_gaps(), otherwise="compaction")
        asyncio.run(self._set(Resource(TOPIC, "latest"), {"min.compaction.lag.ms": str(2**62)}))
        until(self._is_steady, otherwise="the end of compaction")

    def _latest_round(self) -> bool:
        producer = self._producer()
        for number in range(4):
            producer.produce("latest", b"v%f" % time.time(), b"k%d" % number, 0)
        producer.produce("latest", None, b"k0", 0)
        _flushed(producer)
        time.sleep(1.1)
        return True

    def _has_gaps(self) -> bool:
        (first, *_) = records_of(self.bootstrap, "latest", 0)
        return bool(first[0])

    def _is_steady(self) -> bool:
        """A run that was going on when it was told to stop is over."""
        before = records_of(self.bootstrap, "latest", 0)
        time.sleep(1)
        return before == records_of(self.bootstrap, "latest", 0)

    def _outcomes(self) -> None:
        producer = self._producer(**{"transactional.id": "writer"})
        producer.init_transactions(SECONDS)
        for number in range(6):
            producer.begin_transaction()
            for partition in (0, 1):
                producer.produce(
                    "outcomes", b"%s %d" % (b"aborted" if number % 3 == 1 else b"committed", number), b"k", partition
                )
            if number % 3 == 1:
                producer.flush(SECONDS)
                producer.abort_transaction(SECONDS)
            else:
                offsets = [TopicPartition("plain", 0, number + 1)]
                consumer = self._consumer("transactional")
                producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), SECONDS)
                consumer.close()
                producer.commit_transaction(SECONDS)

    # -- groups ------------------------------------------------------------------------------------------------------

    def _groups(self) -> None:
        self.read_as("classic-group", 12, **{"group.protocol": "classic"})
        self.read_as("next-group", 22, **{"group.protocol": "consumer"})
        alone = self._consumer("alone")
        alone.commit(offsets=[TopicPartition("packed", 0, 3, metadata="by hand")], asynchronous=False)
        alone.close()

    def read_as(self, group: str, count: int, **settings: Any) -> None:
        consumer = self._consumer(group, **settings)
        consumer.subscribe(["plain"])
        read: dict[int, int] = {}

        def messages() -> list[Any]:
            return [each for each in consumer.consume(count, 1.0) if each.error() is None]

        for message in collected(messages, lambda found: len(found) >= count)[:count]:
            read[message.partition()] = message.offset() + 1
        consumer.commit(offsets=[TopicPartition("plain", *each) for each in read.items()], asynchronous=False)
        consumer.close()

    def _producer(self, **settings: Any) -> Producer:
        return Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 20, "log_level": 0, **settings})

    def _consumer(self, group: str, **settings: Any) -> Consumer:
        return Consumer(
            {
                "bootstrap.servers": self.bootstrap,
                "group.id": group,
                "log_level": 0,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **settings,
            }
        )


def _flushed(producer: Producer) -> None:
    assert producer.flush(SECONDS) == 0, "not delivered in time"
