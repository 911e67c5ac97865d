"""A replica that was away for longer than tombstones and markers are kept, as compaction and its own log left it."""

from collections.abc import Callable, Coroutine, Iterator
from random import Random
from typing import Any

import pytest

from headrace.broker.upkeep import janitor
from headrace.wire.batch import iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.transactions import EndTxnRequest, InitProducerIdRequest
from headrace.wire.records import Record, build_batch, read_records
from sim.absence_teeth import absent_replicas_are_forgotten
from sim.clients import Directory, Refusal
from sim.cluster import TOPIC, Cluster
from sim.host import Host
from sim.wireclient import Lost, WireClient

TRANSACTION, FIND, INIT, PRODUCE, END = 1, 4, 4, 12, 5
READ_BYTES = 1 << 20
ABSENT_SECONDS = 12.0
SETTINGS = {
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.max.compaction.lag.ms": "500",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "2000",
    "log.retention.check.interval.ms": "1000",
    "producer.id.expiration.ms": "3000",
}


class Keyed(Cluster):
    """Three brokers and a topic that is compacted all the time."""

    def __init__(self) -> None:
        super().__init__(3, settings=SETTINGS)
        self.loop = self.world.client_loop("writer")
        self.directory = Directory(self.world, self.loop, Random(1))
        self.start()
        self.create_topic(cleanup_policy="compact", min_insync_replicas="2", segment_ms="500")
        self.until(lambda: len(self.state.isr) == 3 and self.state.leader > 0)

    def put(self, key: bytes, value: bytes | None, **fields: Any) -> None:
        transactional_id = "writer" if fields else None
        stamp = int((1_700_000_000 + self.agenda.now) * 1000)
        batch = memoryview(build_batch([Record(timestamp=stamp, key=key, value=value)], **fields))
        topics = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, batch)])]
        request = ProduceRequest(transactional_id, -1, 3000, topics)

        async def write() -> int:
            link = await self.directory.leader_link(TOPIC, 0)
            answer = await link.ask(request, PRODUCE)
            link.close()
            return int(answer.responses[0].partition_responses[0].error_code)

        self.until_done(write)

    def until_done(self, work: Callable[[], Coroutine[Any, Any, int]]) -> None:
        async def again_and_again() -> None:
            while True:
                try:
                    if await work() == ErrorCode.NONE:
                        return
                except (Lost, Refusal):
                    pass
                self.directory.doubt(TOPIC, 0)
                await self.directory.back_off()

        self.until(self.world.spawn(self.loop, again_and_again()).done)

    def ask_coordinator(self, request: Any, version: int) -> Any:
        answers: list[Any] = []

        async def ask() -> int:
            link = await self.directory.any()
            wanted = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=["writer"])
            found = (await link.ask(wanted, FIND)).coordinators[0]
            link.close()
            if found.error_code:
                return int(found.error_code)
            link = await WireClient.open(self.loop, (found.host, found.port))
            answers.append(await link.ask(request, version))
            link.close()
            return int(answers[-1].error_code)

        self.until_done(ask)
        return answers[-1]

    def follower(self) -> Host:
        return self.world.hosts[next(each for each in self.state.replicas if each != self.state.leader) - 1]

    def is_everywhere(self) -> bool:
        ends = [self.partition(each) for each in (1, 2, 3)]
        return len({each.high_watermark for each in ends} | {each.log.end_offset for each in ends}) == 1

    def stay_away(self, host: Host) -> None:
        """Long enough for compaction to forget everything that it may; other keys are written meanwhile."""
        self.until(lambda: host.id not in self.state.isr)
        end = self.agenda.now + ABSENT_SECONDS
        number = 0
        while self.agenda.now < end:
            self.put(b"other %d" % (number % 3), b"%d" % number)
            number += 1
            self.run(0.4)

    def come_back(self, host: Host) -> None:
        self.world.start(host)
        self.until(lambda: len(self.state.isr) == 3 and self.is_everywhere())

    def values(self, broker_id: int, key: bytes) -> list[bytes | None]:
        """All that this broker's log holds of a key, oldest first."""
        store = self.partition(broker_id).log
        found: list[bytes | None] = []
        offset = store.start_offset
        while (part := store.reader.read(offset, READ_BYTES, store.end_offset)) is not None:
            content = part.read()
            part.release()
            for position, header in iter_headers(content):
                if not header.is_control:
                    batch = content[position : position + header.size]
                    found += [record.value for record in read_records(batch) if record.key == key]
            offset = part.next_offset
        return found


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Keyed]:
    monkeypatch.setattr(janitor, "EXPIRY_TICKS", 2)
    made = Keyed()
    yield made
    made.world.end()


def delete_a_key_meanwhile(cluster: Keyed) -> None:
    cluster.put(b"gone", b"value")
    cluster.until(cluster.is_everywhere)
    away = cluster.follower()
    cluster.world.kill(away)
    cluster.put(b"gone", None)
    cluster.stay_away(away)
    cluster.come_back(away)
    for broker_id in (1, 2, 3):
        assert cluster.values(broker_id, b"gone")[-1:] in ([], [None]), f"it is there again on broker {broker_id}"


def commit_meanwhile(cluster: Keyed) -> None:
    begun = cluster.ask_coordinator(InitProducerIdRequest("writer", 30_000), INIT)
    identity = {"producer_id": begun.producer_id, "producer_epoch": begun.producer_epoch}
    cluster.put(b"key", b"in a transaction", base_sequence=0, transactional=True, **identity)
    cluster.until(cluster.is_everywhere)
    away = cluster.follower()
    cluster.world.kill(away)
    cluster.ask_coordinator(EndTxnRequest("writer", *identity.values(), True), END)
    cluster.put(b"key", b"newer")
    cluster.stay_away(away)
    cluster.come_back(away)
    for broker_id in (1, 2, 3):
        replica = cluster.partition(broker_id)
        assert replica.reads.last_stable_offset == replica.log.end_offset, f"it stands still on broker {broker_id}"


def test_a_deleted_key_stays_deleted(cluster: Keyed) -> None:
    delete_a_key_meanwhile(cluster)


def test_tombstones_go_when_everybody_has_them(cluster: Keyed) -> None:
    delete_a_key_meanwhile(cluster)
    cluster.until(lambda: not any(cluster.values(broker_id, b"gone") for broker_id in (1, 2, 3)))


def test_the_last_stable_offset_reaches_the_end(cluster: Keyed) -> None:
    commit_meanwhile(cluster)


@pytest.mark.parametrize("story", [delete_a_key_meanwhile, commit_meanwhile])
def test_without_the_rule_it_goes_wrong(story: Any, cluster: Keyed, monkeypatch: pytest.MonkeyPatch) -> None:
    absent_replicas_are_forgotten(monkeypatch)
    with pytest.raises(AssertionError, match="on broker"):
        story(cluster)
