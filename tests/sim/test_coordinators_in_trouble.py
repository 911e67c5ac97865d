"""Coordinators whose log has rotted, or takes long to load: what is asked of them, and what goes on beside them."""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from headrace.broker.disk.log_reading import LogReading
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from headrace.wire.messages.groups_admin import ListGroupsRequest
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.producers import ListTransactionsRequest
from headrace.wire.messages.replicas import ElectLeadersRequest, TopicPartitions
from headrace.wire.messages.transactions import InitProducerIdRequest
from headrace.wire.records import Record, build_batch
from sim.clients import ELECT, Directory, Refusal, ask_once
from sim.cluster import TOPIC, Cluster
from sim.host import PORT
from sim.wireclient import Lost, WireClient

GROUP, TRANSACTION = 0, 1
FIND, COMMIT, FETCH, INIT, PRODUCE = 4, 8, 7, 4, 12
NAME = "billing"
OFFSET = 1_000_000
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"


class Coordinated(Cluster):
    """A cluster of which coordinators are asked, until they answer."""

    def ask(self, kind: int, request: Any, version: int, seconds_max: float = 30.0) -> Any:
        loop = self.world.client_loop(f"asker {len(self.world.loops)}")
        task = self.world.spawn(
            loop, self._until_answered(Directory(self.world, loop, Random(1)), kind, request, version)
        )
        self.agenda.run(seconds_max, task.done)
        self.checks.inspect()
        assert self.checks.breach is None, self.checks.breach
        return task.result() if task.done() else None

    async def _until_answered(self, directory: Directory, kind: int, request: Any, version: int) -> Any:
        while True:
            try:
                link = await directory.any()
                found = (
                    await link.ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=[NAME]), FIND)
                ).coordinators[0]
                link.close()
                if found.error_code:
                    raise Refusal(f"error {found.error_code}")
                link = await WireClient.open(directory.loop, (found.host, found.port))
                answer = await link.ask(request, version, 5.0)
                link.close()
                if getattr(answer, "error_code", 0) not in (
                    ErrorCode.NOT_COORDINATOR,
                    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
                ):
                    return answer
            except (Lost, Refusal):
                pass
            await asyncio.sleep(0.1)

    def commit(self, offset: int, seconds_max: float = 30.0) -> int | None:
        """The code of the answer; None when there is none in time."""
        topics = [OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, offset)])]
        answer = self.ask(GROUP, OffsetCommitRequest(NAME, -1, "", topics=topics), COMMIT, seconds_max)
        return None if answer is None else int(answer.topics[0].partitions[0].error_code)

    def committed(self, seconds_max: float = 30.0) -> int | None:
        request = OffsetFetchRequest(NAME, [OffsetFetchRequestTopic(TOPIC, [0])])
        answer = self.ask(GROUP, request, FETCH, seconds_max)
        return None if answer is None else int(answer.topics[0].partitions[0].committed_offset)

    def begin(self, seconds_max: float = 30.0) -> tuple[int, int] | None:
        """Producer id and epoch of the transactional id."""
        answer = self.ask(TRANSACTION, InitProducerIdRequest(NAME, 60_000), INIT, seconds_max)
        return None if answer is None else (answer.producer_id, answer.producer_epoch)

    def index_of(self, topic: str) -> int:
        """The partition that holds anything."""
        parts = [each for host in self.world.hosts for each in host.partitions() if each.id.topic == topic]
        return next(int(each.id.partition) for each in parts if each.log.end_offset)

    def rot(self, topic: str, pattern: bytes) -> tuple[int, int]:
        """Flips a bit on the leader's disk; the leader and its epoch."""
        index = self.index_of(topic)
        state = self.checks.state(topic, index)
        host = self.world.hosts[state.leader - 1]
        path = f"/data/logs/{topic}-{index}/{0:020}.log"
        position = bytes(host.disk.file(path).content).rindex(pattern) + len(pattern) - 2
        host.disk.flip_bit(path, position, 6)
        return state.leader, state.leader_epoch

    def reload(self, topic: str) -> None:
        """The coordinator starts over from its log, as after an append that was refused."""
        index = self.index_of(topic)
        node = self.world.hosts[self.checks.state(topic, index).leader - 1].node
        assert node is not None
        coordinators: Any = node.broker.coordinators if topic == OFFSETS else node.broker.transactions
        coordinators.at(index).decisions.resign()

    def elect_uncleanly(self, topic: str) -> None:
        loop = self.world.client_loop("elector")
        wanted = [TopicPartitions(topic, [self.index_of(topic)])]
        work = ask_once(Directory(self.world, loop, Random(1)), ElectLeadersRequest(1, wanted, 3000), ELECT)
        self.until(self.world.spawn(loop, work).done)

    def lives(self) -> list[int]:
        return [host.lives for host in self.world.hosts]


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Coordinated]:
    made = Coordinated(request.param)
    made.start()
    made.create_topic()
    yield made
    made.world.end()


one = pytest.mark.parametrize("cluster", [1], indirect=True)
three = pytest.mark.parametrize("cluster", [3], indirect=True)


@one
def test_a_fenced_broker_is_not_without_groups_and_transactions(cluster: Coordinated) -> None:
    """Its coordinators are gone until it has a lease again: it says so."""
    assert cluster.commit(OFFSET) == 0 and cluster.begin() is not None
    node = cluster.world.hosts[0].node
    assert node is not None
    loop = cluster.world.client_loop("operator")

    async def listed() -> list[int]:
        link = await WireClient.open(loop, (cluster.world.hosts[0].address, PORT))
        codes = []
        for request, version in ((ListGroupsRequest(), 4), (ListTransactionsRequest(), 1)):
            node.broker.fence("a test says so")
            codes.append((await link.ask(request, version)).error_code)
        link.close()
        return codes

    asking = cluster.world.spawn(loop, listed())
    cluster.until(asking.done)
    assert asking.result() == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2


@three
def test_an_offset_whose_batch_has_rotted_is_served_by_another_replica(cluster: Coordinated) -> None:
    assert cluster.commit(OFFSET) == 0
    cluster.run(1.0)
    lives = cluster.lives()
    leader, epoch = cluster.rot(OFFSETS, OFFSET.to_bytes(8, "big"))
    cluster.reload(OFFSETS)
    assert cluster.committed() == OFFSET
    index = cluster.index_of(OFFSETS)
    state = cluster.checks.state(OFFSETS, index)
    assert state.leader != leader and state.leader_epoch == epoch + 1
    # The damaged copy is fetched again, and is as good as any.
    cluster.until(lambda: leader in cluster.checks.state(OFFSETS, index).isr)
    contents = [
        bytes(host.disk.file(f"/data/logs/{OFFSETS}-{index}/{0:020}.log").content) for host in cluster.world.hosts
    ]
    assert contents[0] == contents[1] == contents[2]
    assert cluster.lives() == lives


@three
def test_a_transactional_id_whose_batch_has_rotted_is_served_by_another_replica(cluster: Coordinated) -> None:
    first = cluster.begin()
    assert first is not None
    cluster.run(1.0)
    lives = cluster.lives()
    leader, _ = cluster.rot(TRANSACTIONS, NAME.encode())
    cluster.reload(TRANSACTIONS)
    assert cluster.begin() == (first[0], first[1] + 1)
    index = cluster.index_of(TRANSACTIONS)
    assert cluster.checks.state(TRANSACTIONS, index).leader != leader
    cluster.until(lambda: leader in cluster.checks.state(TRANSACTIONS, index).isr)
    assert cluster.lives() == lives


@one
def test_without_another_replica_the_partition_is_offline_and_the_broker_goes_on(cluster: Coordinated) -> None:
    assert cluster.commit(OFFSET) == 0
    first = cluster.begin()
    cluster.run(1.0)
    cluster.rot(OFFSETS, OFFSET.to_bytes(8, "big"))
    cluster.reload(OFFSETS)
    assert cluster.committed(5.0) is None, "nothing is answered that was made of damaged bytes"
    state = cluster.checks.state(OFFSETS, cluster.index_of(OFFSETS))
    assert (state.leader, state.damaged) == (-1, (1,))
    assert first is not None
    assert cluster.begin() == (first[0], first[1] + 1), "all other partitions go on"
    cluster.produce(1.0)
    assert cluster.lives() == [1]


@one
def test_an_unclean_election_goes_on_without_the_damaged_batch(cluster: Coordinated) -> None:
    assert cluster.commit(3) == 0
    assert cluster.commit(OFFSET) == 0
    cluster.run(1.0)
    cluster.rot(OFFSETS, OFFSET.to_bytes(8, "big"))
    cluster.reload(OFFSETS)
    cluster.run(2.0)
    cluster.elect_uncleanly(OFFSETS)
    assert cluster.committed() == 3
    assert cluster.commit(OFFSET) == 0
    assert cluster.committed() == OFFSET
    assert cluster.lives() == [1]


@one
def test_a_produce_waits_for_a_coordinator_that_loads_no_longer_than_its_own_time_allows(cluster: Coordinated) -> None:
    first = cluster.begin()
    assert first is not None
    (host,) = cluster.world.hosts
    host.slowness = 1e6
    # Written and not on disk, so a coordinator that starts over cannot serve yet.
    assert cluster.begin(1.0) is None
    cluster.reload(TRANSACTIONS)
    cluster.run(1.0)
    records = build_batch(
        [Record(timestamp=0, value=b"value")],
        producer_id=first[0],
        producer_epoch=first[1],
        base_sequence=0,
        transactional=True,
    )
    data = [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, memoryview(records))])]
    loop = cluster.world.client_loop("producer")

    async def produce() -> int:
        link = await WireClient.open(loop, (host.address, PORT))
        answer = await link.ask(ProduceRequest(NAME, -1, 1000, data), PRODUCE, 10.0)
        return int(answer.responses[0].partition_responses[0].error_code)

    task = cluster.world.spawn(loop, produce())
    cluster.until(task.done)
    assert task.result() == ErrorCode.NOT_ENOUGH_REPLICAS


@one
def test_an_election_accepts_the_damage_of_its_day_and_none_of_later(cluster: Coordinated) -> None:
    assert cluster.commit(3) == 0
    assert cluster.commit(OFFSET) == 0
    cluster.run(1.0)
    cluster.rot(OFFSETS, OFFSET.to_bytes(8, "big"))
    cluster.reload(OFFSETS)
    cluster.run(2.0)
    cluster.elect_uncleanly(OFFSETS)
    assert cluster.committed() == 3
    assert cluster.commit(OFFSET + 1) == 0
    cluster.run(1.0)
    cluster.reload(OFFSETS)
    assert cluster.committed() == OFFSET + 1, "what was accepted stays so"
    cluster.rot(OFFSETS, (OFFSET + 1).to_bytes(8, "big"))
    cluster.reload(OFFSETS)
    assert cluster.committed(5.0) is None, "an acknowledged offset is not passed over before somebody decides"
    cluster.elect_uncleanly(OFFSETS)
    assert cluster.committed() == 3


class StretchesPerTurn:
    """How many stretches of logs were replayed in one turn of the loop."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.most = self.all = self._now = 0
        self._next = LogReading.next
        monkeypatch.setattr(LogReading, "next", lambda reading, max_bytes: self._counted(reading, max_bytes))

    def _counted(self, reading: LogReading, max_bytes: int) -> Any:
        if not self._now:
            asyncio.get_running_loop().call_soon(self._on_next_turn)
        self._now += 1
        self.all += 1
        self.most = max(self.most, self._now)
        return self._next(reading, max_bytes)

    def _on_next_turn(self) -> None:
        self._now = 0


@one
def test_however_many_coordinators_load_the_loop_replays_one_stretch_at_a_time(
    cluster: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifty of them, a stretch each in one turn, took longer than the lease: it was lost, and they began anew, for ever."""
    topics = [OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, OFFSET)])]
    for number in range(20):
        cluster.ask(GROUP, OffsetCommitRequest(f"group {number}", -1, "", topics=topics), COMMIT)
    (host,) = cluster.world.hosts
    cluster.world.kill(host)
    stretches = StretchesPerTurn(monkeypatch)
    cluster.start()
    assert host.node is not None
    coordinators = host.node.broker.coordinators
    cluster.until(lambda: bool(list(coordinators)) and all(each.decisions.is_active for each in coordinators))
    assert stretches.all > 10
    assert stretches.most == 1
