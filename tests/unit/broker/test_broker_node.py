"""A whole broker in the simulator's world: started, asked, stopped, killed and cut off from power, in virtual time."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from batches import batch
from headrace.base.errors import DiskFailed
from headrace.base.ids import TopicPartition
from headrace.broker.disk.partition_directories import PartitionDirectories
from headrace.wire.batch import iter_headers
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.records import read_records
from sim.host import PORT, WALL_START, SimClock
from sim.wireclient import Lost, WireClient
from sim.world import World

TOPIC = "orders"
RETRIED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class OneBroker:
    def __init__(self, seed: int = 1) -> None:
        self.world = World(f"one broker {seed}", 1, {})
        (self.host,) = self.world.hosts
        self.host.clock.skew = 0.0
        self.client = self.world.client_loop("client")
        self.exits: list[BaseException | None] = []
        self.world.on_exit = self._on_exit

    def _on_exit(self, host: Any, cause: BaseException | None) -> None:
        """No supervisor here: what stopped stays down until the test starts it."""
        self.exits.append(cause)
        host.kill()

    def start(self) -> None:
        self.world.start(self.host)
        self.wait(lambda: self.host.is_serving or bool(self.exits))

    def stop(self) -> None:
        self.world.stop(self.host)
        self.wait(lambda: bool(self.exits))

    def wait(self, until: Callable[[], bool]) -> None:
        assert self.world.agenda.run(60.0, until=until), "it does not come true"
        assert not self.world.bugs, self.world.bugs

    def ask(self, work: Any) -> Any:
        task = self.client.create_task(work)
        self.wait(task.done)
        return task.result()

    async def connect(self) -> WireClient:
        return await WireClient.open(self.client, (self.host.address, PORT))

    async def create(self) -> None:
        client = await self.connect()
        answer = await client.ask(CreateTopicsRequest([CreatableTopic(TOPIC, 1, 1)]), 7)
        assert answer.topics[0].error_code == 0

    async def produce(self, *values: bytes) -> int:
        """The error code; asked again while there is no leader yet."""
        while (code := await self.produce_once(*values)) in RETRIED:
            pass
        return code

    async def produce_once(self, *values: bytes, **header: int) -> int:
        client = await self.connect()
        wall = int((WALL_START + self.world.agenda.now) * 1000)
        content = bytes(batch(*values, timestamp=wall, **header))
        request = ProduceRequest(
            None, -1, 5000, [TopicProduceData(TOPIC, partition_data=[PartitionProduceData(0, content)])]
        )
        answer = await client.ask(request, 9, 10.0)
        return int(answer.responses[0].partition_responses[0].error_code)

    async def commit(self, offset: int) -> int:
        """The error code; asked again while the group has no coordinator yet."""
        client = await self.connect()
        topics = [OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, offset)])]
        while True:
            await client.ask(FindCoordinatorRequest("group"), 3)
            answer = await client.ask(OffsetCommitRequest("group", topics=topics), 8)
            code = int(answer.topics[0].partitions[0].error_code)
            if code not in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS):
                return code

    async def values(self) -> list[bytes]:
        client = await self.connect()
        wanted = [FetchTopic(TOPIC, partitions=[FetchPartition(0, fetch_offset=0, partition_max_bytes=1 << 20)])]
        while True:
            answer = await client.ask(FetchRequest(topics=wanted), 12, 10.0)
            part = answer.responses[0].partitions[0]
            if part.error_code not in RETRIED:
                assert part.error_code == 0
                batches = bytes(part.records)
                return [
                    record.value
                    for position, header in iter_headers(batches)
                    for record in read_records(batches[position : position + header.size])
                ]


@pytest.fixture
def one() -> Iterator[OneBroker]:
    broker = OneBroker()
    yield broker
    broker.world.end()


def has_clean_mark(one: OneBroker) -> bool:
    return one.host.disk.node("/data/clean") is not None


@pytest.mark.parametrize("end", ["kill", "lose_power", "stop"])
def test_what_was_acknowledged_is_there_after_every_end(one: OneBroker, end: str) -> None:
    one.start()
    one.ask(one.create())
    values = [b"%d" % number for number in range(20)]
    for value in values:
        assert one.ask(one.produce(value)) == 0
    if end == "stop":
        one.stop()
        assert one.exits == [None]
        assert has_clean_mark(one)
        one.exits.clear()
    else:
        getattr(one.world, end)(one.host)
        assert not has_clean_mark(one)
    one.start()
    assert one.ask(one.values()) == values
    assert one.ask(one.produce(b"more")) == 0


def test_a_batch_behind_one_that_came_before_its_topic_does_not_take_its_place(one: OneBroker) -> None:
    one.start()

    def send(sequence: int) -> int:
        batch = one.produce_once(b"%d" % sequence, producer_id=7, producer_epoch=0, base_sequence=sequence)
        return int(one.ask(batch))

    assert send(0) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    one.ask(one.create())
    assert send(1) == ErrorCode.NOT_ENOUGH_REPLICAS
    assert [send(0), send(1)] == [0, 0]
    assert one.ask(one.values()) == [b"0", b"1"]


@pytest.mark.parametrize("seed", range(10))
def test_a_stop_under_load_is_clean_and_keeps_every_promise(seed: int) -> None:
    one = OneBroker(seed)
    one.start()
    one.ask(one.create())
    acknowledged: list[bytes] = []

    async def keep_producing(name: int) -> None:
        for number in range(10_000):
            value = b"%d %d" % (name, number)
            try:
                if await one.produce(value) == 0:
                    acknowledged.append(value)
            except Lost:
                return

    tasks = [one.client.create_task(keep_producing(name)) for name in range(5)]
    one.wait(lambda: len(acknowledged) > 20 + seed)
    one.stop()
    assert one.exits == [None]
    assert has_clean_mark(one)
    one.wait(lambda: all(task.done() for task in tasks))
    one.exits.clear()
    one.start()
    assert set(acknowledged) <= set(one.ask(one.values()))
    one.world.end()


def test_a_disk_that_fails_stops_the_broker_and_nothing_more_is_acknowledged(one: OneBroker) -> None:
    one.start()
    one.ask(one.create())
    assert one.ask(one.produce(b"kept")) == 0
    one.host.disk.fail_syncs.append("orders-0")
    with pytest.raises(Lost):
        one.ask(one.produce(b"lost"))
    one.wait(lambda: bool(one.exits))
    assert [type(cause) for cause in one.exits] == [DiskFailed]
    assert not has_clean_mark(one)
    one.exits.clear()
    one.start()
    assert one.ask(one.values())[:1] == [b"kept"]


def test_a_failed_write_stops_the_broker_too(one: OneBroker) -> None:
    one.start()
    one.ask(one.create())
    one.host.disk.fail_writes.append("orders-0")
    with pytest.raises(Lost):
        one.ask(one.produce(b"lost"))
    one.wait(lambda: bool(one.exits))
    assert [type(cause) for cause in one.exits] == [DiskFailed]


def test_a_commit_that_the_disk_fails_to_take_stops_the_broker(one: OneBroker) -> None:
    one.start()
    one.ask(one.create())
    assert one.ask(one.commit(1)) == 0
    one.host.disk.fail_writes.append("__consumer_offsets")
    with pytest.raises(Lost):
        one.ask(one.commit(2))
    one.wait(lambda: bool(one.exits))
    assert [type(cause) for cause in one.exits] == [DiskFailed]


def test_a_stop_that_cannot_sync_leaves_no_clean_mark(one: OneBroker) -> None:
    one.start()
    one.ask(one.create())
    assert one.ask(one.produce(b"kept")) == 0
    one.host.disk.fail_syncs.append("orders-0")
    one.stop()
    assert [type(cause) for cause in one.exits] == [DiskFailed]
    assert not has_clean_mark(one)


def test_a_stop_with_a_log_that_could_not_be_opened_leaves_no_clean_mark(
    one: OneBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has looked at that one since the crash before."""
    one.start()
    one.ask(one.create())
    assert one.ask(one.produce(b"kept")) == 0
    one.world.kill(one.host)
    with monkeypatch.context() as patch:
        patch.setattr(PartitionDirectories, "claim", refuse_to_open)
        one.start()
        one.stop()
    assert one.exits == [None]
    assert not has_clean_mark(one)
    one.exits.clear()
    one.start()
    assert one.ask(one.values()) == [b"kept"]


def refuse_to_open(self: PartitionDirectories, id: TopicPartition, topic_id: bytes, is_known: bool = False) -> bool:
    raise OSError(5, "Input/output error")


def test_a_full_disk_ends_in_a_stop_that_is_only_not_clean(one: OneBroker) -> None:
    one.start()
    one.ask(one.create())
    assert one.ask(one.produce(b"kept")) == 0
    one.host.disk.capacity_bytes = one.host.disk.used_bytes()
    assert one.ask(one.produce(b"no room" * 100)) == ErrorCode.KAFKA_STORAGE_ERROR
    one.stop()
    assert one.exits == [None]
    assert not has_clean_mark(one)
    one.host.disk.capacity_bytes = None
    one.exits.clear()
    one.start()
    assert one.ask(one.values()) == [b"kept"]


@pytest.mark.parametrize(("boot", "is_kept"), [("one boot", True), ("", False)])
def test_a_kernel_that_does_not_say_which_run_it_is_may_have_lost_the_page_cache(
    boot: str, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SimClock, "boot_id", lambda self: boot)
    one = OneBroker()
    one.start()
    one.world.kill(one.host)
    one.start()
    assert one.host.node.broker.hosting.openings._opener._before.left_page_cache is is_kept
    assert one.host.node.broker.membership._lost_page_cache is False, "the cluster was told"
    one.world.end()


def test_an_empty_rack_is_none(one: OneBroker) -> None:
    one.world.overrides["broker.rack"] = ""
    one.world.start(one.host)
    one.host.node.settings = one.host.node.settings._replace(rack="")
    one.wait(lambda: one.host.is_serving or bool(one.exits))
    assert one.exits == []
    assert one.host.node.broker.image.brokers[one.host.id].rack is None
