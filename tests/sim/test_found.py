"""What storms have found, each as the shortest story that shows it: seeds change with the code, these do not."""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from headrace.broker.membership.membership import MARGIN_SHARE
from headrace.cluster.store import Lease
from headrace.log import checkpoint
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from sim.clients import Directory, Producer, delete_records, move_partition
from sim.cluster import LEASE_SECONDS, TOPIC, Cluster
from sim.consumers import Consumer
from sim.host import PORT
from sim.store import SimStore
from sim.wireclient import WireClient


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    made = Cluster(request.param)
    yield made
    made.world.end()


one = pytest.mark.parametrize("cluster", [1], indirect=True)
three = pytest.mark.parametrize("cluster", [3], indirect=True)
five = pytest.mark.parametrize("cluster", [5], indirect=True)


@one
def test_the_data_directory_survives_a_power_cut_right_after_the_first_start(cluster: Cluster) -> None:
    (host,) = cluster.world.hosts
    for _ in range(5):
        cluster.start()
        cluster.world.lose_power(host)


@one
def test_the_log_directory_is_named_on_disk_before_the_first_ack(cluster: Cluster) -> None:
    (host,) = cluster.world.hosts
    cluster.start()
    cluster.create_topic()
    cluster.produce(0.5)
    for _ in range(5):
        cluster.world.lose_power(host)
        cluster.start()
    cluster.run(1.0)
    assert cluster.partition(1).log.end_offset > 0


@one
def test_a_broker_that_died_between_its_lease_and_its_registration_comes_back(cluster: Cluster) -> None:
    (host,) = cluster.world.hosts
    cluster.world.start(host)
    cluster.until(lambda: "broker/1" in cluster.world.shelf.leases)
    assert cluster.checks.image().brokers == {}
    cluster.world.kill(host)
    cluster.start()


@three
def test_a_registration_that_an_earlier_life_left_behind_costs_the_next_one_nothing(cluster: Cluster) -> None:
    """It lands when the next life has its lease, with the same epoch: nothing was committed in between."""
    cluster.start()
    cluster.run(1.0)
    host, shelf = cluster.world.hosts[2], cluster.world.shelf
    cluster.world.kill(host)
    cluster.until(lambda: "broker/3" not in shelf.live(cluster.world.store_clock.now().mono))
    cluster.run(1.0)
    cluster.world.start(host)
    assert host.store is not None
    sent: list[Any] = []

    async def send(puts: Any, expect: Any) -> int:
        sent.append((puts, expect))
        return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]

    host.store.commit = send  # type: ignore[method-assign]
    cluster.until(lambda: sent)
    cluster.world.kill(host)
    del shelf.leases["broker/3"]
    cluster.world.start(host)
    acquire = host.store.acquire

    async def acquire_and_hear(*lease: Any) -> Lease:
        taken = await acquire(*lease)
        if sent:
            shelf.commit(*sent.pop())
            await asyncio.sleep(0.05)
        return taken

    host.store.acquire = acquire_and_hear  # type: ignore[method-assign]
    cluster.until(lambda: host.is_serving)
    cluster.run(1.0)
    for other in cluster.world.hosts:
        assert other.node is not None
        assert sorted(other.node.broker.view.live) == [1, 2, 3]


@three
def test_brokers_that_start_together_all_take_each_other_for_alive(cluster: Cluster) -> None:
    """Each commits its registration at a later revision than the one its lease was taken under."""
    cluster.start()
    cluster.run(1.0)
    for host in cluster.world.hosts:
        assert host.node is not None
        assert sorted(host.node.broker.view.live) == [1, 2, 3]


@three
def test_a_broker_knows_who_is_alive_before_it_serves(cluster: Cluster) -> None:
    """Its clients would drop all others, and take every partition for leaderless; as a controller it would elect."""
    cluster.start()
    cluster.run(1.0)
    for host in cluster.world.hosts:
        cluster.world.kill(host)
        cluster.world.start(host)
        cluster.agenda.run(30.0, lambda host=host: host.answers)
        assert host.node is not None
        assert sorted(host.node.broker.view.live) == [1, 2, 3]


@three
def test_a_quiet_follower_hears_of_the_watermark_that_its_own_fetch_moved(cluster: Cluster) -> None:
    cluster.start()
    cluster.create_topic()
    cluster.produce(1.0)
    cluster.run(2.0)
    assert len({cluster.partition(number).high_watermark for number in (1, 2, 3)}) == 1


@three
def test_a_broker_that_fenced_itself_and_still_has_its_lease_goes_on(cluster: Cluster) -> None:
    """It stands still past its own deadline, which is earlier than the store's."""
    cluster.start()
    cluster.create_topic()
    leader = cluster.world.hosts[cluster.state.leader - 1]
    for _ in range(5):
        lease, ends = cluster.world.shelf.leases[f"broker/{leader.id}"]
        deadline = ends - LEASE_SECONDS * MARGIN_SHARE
        cluster.world.pause(leader, deadline - cluster.agenda.now + 0.05)
        cluster.until(lambda: not leader.loop.is_paused)
        cluster.until(lambda: leader.answers)
        assert cluster.world.shelf.leases[f"broker/{leader.id}"][0] == lease


@three
def test_readers_are_told_no_older_watermark_by_a_new_leader(cluster: Cluster) -> None:
    cluster.start()
    cluster.create_topic(min_insync_replicas="2")
    consumers = [Consumer(cluster.world, cluster.checks, number, TOPIC, 1) for number in range(2)]
    for _ in range(6):
        leader = cluster.world.hosts[cluster.state.leader - 1]
        Producer(cluster.world, cluster.checks, len(cluster.world.loops), TOPIC, 1, pace=0.02)
        cluster.run(0.5)
        cluster.world.kill(leader)
        cluster.run(4.0)
        cluster.start()
        cluster.until(lambda: len(cluster.state.isr) == 3)
    assert all(consumer.positions[0] > 0 for consumer in consumers)


@three
def test_a_follower_that_is_refused_again_and_again_leaves_no_sessions_behind(cluster: Cluster) -> None:
    cluster.start()
    cluster.create_topic()
    cluster.produce(0.5)
    leader = cluster.world.hosts[cluster.state.leader - 1]
    assert leader.node is not None
    followers = [host for host in cluster.world.hosts if host is not leader]
    for _ in range(20):
        for host in followers:
            cluster.world.network.cut(host.address, leader.address)
        cluster.run(0.2)
        for host in followers:
            assert host.node is not None
            for fetcher in host.node.broker.fetchers._fetchers.values():
                fetcher._connection.close()
        cluster.world.network.mend_all()
        cluster.run(1.0)
    assert len(leader.node.broker.sessions) <= 2 * len(followers)


@five
def test_a_partition_that_has_moved_away_has_nothing_for_readers_that_still_wait(cluster: Cluster) -> None:
    """A slow sync that ended after the move had them look into files that were gone, and that stopped the broker."""
    cluster.start()
    cluster.create_topic(segment_ms="500")
    cluster.produce(1.5)
    leader = cluster.state.leader
    moved = cluster.partition(leader)
    assert moved.reads.available_bytes(0) > 0
    loop = cluster.world.client_loop("mover")
    others = [host.id for host in cluster.world.hosts if host.id != leader]
    cluster.world.spawn(loop, move_partition(Directory(cluster.world, loop, Random(1)), TOPIC, 0, others[:3]))
    cluster.until(lambda: cluster.partition(leader) is None)
    assert moved.reads.available_bytes(0) == 0
    assert moved.leader is None


@three
def test_no_checkpoint_comes_between_a_lower_recovery_point_and_its_cut(cluster: Cluster) -> None:
    """The janitor's waits for the same files: with a point of before the cut, recovery would trust what was cut."""
    cluster.start()
    cluster.create_topic()
    cluster.produce(1.0)
    host = cluster.world.hosts[cluster.state.replicas[-1] - 1]
    assert host.node is not None
    checkpoints, partition = host.node.broker.hosting.checkpoints, cluster.partition(host.id)
    assert partition.log.sync.synced_end > 4

    async def cut_beside_the_janitor() -> None:
        def cut() -> None:
            partition.following.truncate(2, host.clock.now())

        await asyncio.gather(checkpoints.before_cut(partition, 2, cut), checkpoints.save())

    task = host.loop.create_task(cut_beside_the_janitor())
    assert cluster.agenda.run(5.0, task.done)
    written = checkpoint.load(host.disk.mount(), "/data/recovery-points").offsets
    assert written[partition.written_as] <= 2


@five
def test_a_replica_begins_where_records_were_deleted_up_to_the_midst_of_a_batch(cluster: Cluster) -> None:
    """It asks from the leader's start, and is sent a batch that begins before it."""
    cluster.start()
    cluster.create_topic()
    cluster.produce(2.0)
    leader = cluster.state.leader
    log = cluster.partition(leader).log
    wide = [header for _, header in log.segments.all[-1].walk() if header.record_count > 1][-1]
    loop = cluster.world.client_loop("admin")
    directory = Directory(cluster.world, loop, Random(1))
    cluster.world.spawn(loop, delete_records(directory, TOPIC, 0, wide.base_offset + 1))
    cluster.until(lambda: log.start_offset == wide.base_offset + 1)
    target = [*sorted({host.id for host in cluster.world.hosts} - set(cluster.state.replicas)), leader]
    cluster.world.spawn(loop, move_partition(directory, TOPIC, 0, target))
    cluster.until(lambda: sorted(cluster.state.isr) == sorted(target))
    for broker_id in target:
        assert cluster.partition(broker_id).log.start_offset == wide.base_offset + 1


@one
def test_a_broker_that_stands_still_while_it_stops_still_stops_cleanly(cluster: Cluster) -> None:
    """All the time it had for the disk was over when it went on, before it could hear that the disk was done."""
    cluster.start()
    cluster.create_topic()
    (host,) = cluster.world.hosts
    producer = Producer(cluster.world, cluster.checks, len(cluster.world.loops), TOPIC, 1, pace=0.01)
    cluster.run(1.0)
    host.slowness = 100.0
    cluster.run(0.5)
    life = host.lives
    cluster.world.stop(host)
    cluster.run(0.1)
    cluster.world.pause(host, 15.0)
    host.slowness = host.usual_slowness
    cluster.until(lambda: host.lives > life and host.is_serving)
    producer.stopping = True
    cluster.until(lambda: producer.is_done)


@one
def test_a_broker_that_is_fenced_for_a_moment_makes_no_gap(cluster: Cluster) -> None:
    """Again and again, while batches are on their way: those behind one that was refused are to come again."""
    (host,) = cluster.world.hosts
    cluster.start()
    cluster.create_topic()
    producers = [Producer(cluster.world, cluster.checks, number, TOPIC, 1, pace=0.008) for number in range(6)]
    rng = Random(1)
    for _ in range(40):
        cluster.run(rng.uniform(0.3, 0.6))
        host.loop.call_soon(host.node.broker.fence, "the store does not answer")
        cluster.run(rng.uniform(0.0, 0.01))
        host.node.broker.on_renewed()
    for producer in producers:
        producer.stopping = True
    cluster.until(lambda: all(producer.is_done for producer in producers))


@three
def test_brokers_that_have_just_joined_can_be_named_for_a_topic(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever is asked may not have heard of them yet."""

    async def long(self: SimStore) -> None:
        await asyncio.sleep(1.0)

    first, second, _ = cluster.world.hosts
    cluster.world.start(first)
    cluster.until(lambda: first.is_serving)
    monkeypatch.setattr(SimStore, "_until_heard", long)
    cluster.world.start(second)
    cluster.until(lambda: second.id in cluster.checks.image().brokers)
    loop = cluster.world.client_loop("admin")
    task = cluster.world.spawn(loop, create_on(loop, first, second.id))
    cluster.until(task.done)
    assert task.result() == 0


async def create_on(loop: Any, asked: Any, named: int) -> int:
    link = await WireClient.open(loop, (asked.address, PORT))
    assignment = [CreatableReplicaAssignment(0, [named])]
    request = CreateTopicsRequest([CreatableTopic(f"t-{asked.id}-{named}", -1, -1, assignment)], timeout_ms=3000)
    answer = await link.ask(request, 5, 5.0)
    link.close()
    return int(answer.topics[0].error_code)


@three
def test_a_topic_that_cannot_be_placed_while_the_store_is_away_is_refused_with_a_code(cluster: Cluster) -> None:
    cluster.start()
    first, *others = cluster.world.hosts
    cluster.world.kill(others[0])
    cluster.run(LEASE_SECONDS + 1.0)
    first.cut_store(True)
    loop = cluster.world.client_loop("admin")

    async def create() -> int:
        link = await WireClient.open(loop, (first.address, PORT))
        answer = await link.ask(CreateTopicsRequest([CreatableTopic(TOPIC, 1, 3)], timeout_ms=3000), 5, 5.0)
        return int(answer.topics[0].error_code)

    task = cluster.world.spawn(loop, create())
    cluster.until(task.done)
    assert task.result() == ErrorCode.REQUEST_TIMED_OUT
