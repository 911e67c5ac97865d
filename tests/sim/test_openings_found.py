"""Partitions that a broker cannot open, or opens with a hole, while it is one of the cluster."""

from collections.abc import Iterator
from random import Random

import pytest

from headrace.base.ids import TopicPartition
from headrace.broker.disk.partition_directories import PartitionDirectories
from headrace.wire.batch import iter_headers
from sim.clients import Directory, Producer, create_topic
from sim.cluster import TOPIC, Cluster
from sim.disk_teeth import vanished_replicas_are_new
from sim.host import Host


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(3)
    made.start()
    yield made
    made.world.end()


def refuse_to_open(cluster: Cluster, broker_id: int, patch: pytest.MonkeyPatch) -> None:
    """Its disk gives it no directory of the topic, and answers everything else."""
    claim = PartitionDirectories.claim
    machine = cluster.world.hosts[broker_id - 1].disk

    def refused(self: PartitionDirectories, id: TopicPartition, topic_id: bytes, is_known: bool = False) -> bool:
        if self._disk.machine is machine and id.topic == TOPIC:
            raise OSError(5, "Input/output error")
        return claim(self, id, topic_id, is_known)

    patch.setattr(PartitionDirectories, "claim", refused)


def first_leader_of_new_topic() -> int:
    """The same in every world that begins like this."""
    other = Cluster(3)
    other.start()
    other.create_topic()
    leader = other.state.leader
    other.world.end()
    return int(leader)


def test_a_leader_that_cannot_open_its_partition_is_replaced(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = first_leader_of_new_topic()
    refuse_to_open(cluster, leader, monkeypatch)
    cluster.create_topic(min_insync_replicas="2")
    assert cluster.state.replicas[0] == leader
    cluster.until(lambda: cluster.state.leader != leader and leader not in cluster.state.isr)
    cluster.produce(1.0)
    monkeypatch.undo()
    # With the next image.
    other = next(each for each in cluster.state.isr if each != cluster.state.leader)
    cluster.world.kill(cluster.world.hosts[other - 1])
    cluster.world.start(cluster.world.hosts[other - 1])
    cluster.until(lambda: set(cluster.state.isr) == {1, 2, 3})


def leave_alone(cluster: Cluster, last: int) -> None:
    """All others die, one after the other: it is the last in sync."""
    for host in cluster.world.hosts:
        if host.id != last:
            cluster.world.kill(host)
    cluster.until(lambda: cluster.state.isr == (last,) and cluster.state.leader == last)


def test_what_could_not_be_opened_once_is_no_damage_for_ever(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """It caught up long ago: when its broker joins again, the cluster counts on it."""
    with monkeypatch.context() as patch:
        refuse_to_open(cluster, 1, patch)
        cluster.create_topic(min_insync_replicas="1")
        cluster.run(3.0)
    for host in cluster.world.hosts[1:]:
        cluster.world.kill(host)
        cluster.world.start(host)
    cluster.until(lambda: set(cluster.state.isr) == {1, 2, 3})
    cluster.produce(1.0)
    leave_alone(cluster, 1)
    host = cluster.world.hosts[0]
    host.cut_store(True)
    cluster.run(5.0)
    host.cut_store(False)
    cluster.run(5.0)
    assert (cluster.state.leader, cluster.state.damaged) == (1, ())


def test_the_last_in_sync_that_is_opened_late_with_a_hole_does_not_lead(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When it registered, nothing was known of the hole: the log could not be opened."""
    cluster.create_topic(min_insync_replicas="1")
    cluster.produce(2.0)
    leave_alone(cluster, 1)
    cluster.run(10.0)
    host = cluster.world.hosts[0]
    end = cluster.partition(1).log.end_offset
    cluster.world.kill(host)
    disk = host.disk.mount()
    path = f"/data/logs/{TOPIC}-0"
    (name,) = [each for each in disk.listdir(path) if each.endswith(".log")]
    file = disk.open(f"{path}/{name}")
    file.truncate(file.size // 2)
    file.close()
    with monkeypatch.context() as patch:
        refuse_to_open(cluster, 1, patch)
        cluster.world.start(host)
        cluster.until(lambda: host.is_serving and cluster.state.leader == 1)
        assert host.partition(TOPIC, 0) is None
    loop = cluster.world.client_loop("second admin")
    cluster.world.spawn(loop, create_topic(Directory(cluster.world, loop, Random(2)), "second", 1, 1, {}))
    cluster.until(lambda: host.partition(TOPIC, 0) is not None)
    assert not cluster.partition(1).is_leader
    assert cluster.partition(1).log.end_offset < end
    assert (cluster.state.leader, cluster.state.damaged) == (-1, (1,))


def punch_a_hole(host: Host) -> None:
    """The disk wrote the last two batches, which no sync had proven, in another order, and the power went in between."""
    path = f"/data/logs/{TOPIC}-0/{0:020}.log"
    content = bytes(host.disk.file(path).content)
    starts = [position for position, _ in iter_headers(content)]
    host.disk.file(path).unsynced.clear()
    host.disk.file(path).durable[:] = content
    host.disk.flip_bit(path, starts[-2] + 70)


def test_of_two_in_sync_that_a_power_cut_left_with_a_hole_one_leads(cluster: Cluster) -> None:
    """Nothing that was acknowledged is gone from either."""
    cluster.create_topic(min_insync_replicas="2")
    cluster.produce(2.0)
    away = cluster.world.hosts[2]
    cluster.world.kill(away)
    cluster.until(lambda: away.id not in cluster.state.isr)
    left = cluster.world.hosts[:2]
    producers = [Producer(cluster.world, cluster.checks, number, TOPIC, 1, pace=0.01) for number in range(3)]
    cluster.run(0.5)
    # What the follower fetches while the leader's disk hangs is on no disk, and a moment later its own hangs too.
    hang_disks(left, True)
    cluster.run(0.3)
    (follower,) = [host for host in left if host.id != cluster.state.leader]
    follower.disk_hangs = False
    cluster.until(lambda: cluster.partition(follower.id).log.unsynced_messages > 5)
    follower.disk_hangs = True
    assert all(cluster.partition(each.id).log.unsynced_messages > 5 for each in left)
    for host in left:
        punch_a_hole(host)
    for host in left:
        cluster.world.lose_power(host)
    hang_disks(left, False)
    cluster.start()
    cluster.until(lambda: cluster.state.leader > 0 and set(cluster.state.isr) == {1, 2, 3})
    for producer in producers:
        producer.stopping = True
    cluster.until(lambda: all(producer.is_done for producer in producers))


def hang_disks(hosts: list[Host], is_hung: bool) -> None:
    for host in hosts:
        host.disk_hangs = is_hung


def delete_copy(cluster: Cluster, broker_id: int) -> None:
    """A person deletes the directory while its broker is stopped; nothing is written down of it yet."""
    host = cluster.world.hosts[broker_id - 1]
    cluster.world.kill(host)
    host.disk.mount().unlink("/data/recovery-points")
    host.disk.mount().unlink("/data/high-watermarks")
    host.disk.mount().remove_tree(f"/data/logs/{TOPIC}-0")


def come_back_without_a_copy(cluster: Cluster) -> None:
    """All stop at once, so that nobody is missed; the one that lost its copy comes back first."""
    cluster.create_topic(min_insync_replicas="1")
    cluster.produce(2.0)
    for host in cluster.world.hosts[1:]:
        cluster.world.kill(host)
    delete_copy(cluster, 1)
    cluster.world.start(cluster.world.hosts[0])
    cluster.run(5.0)


def test_a_replica_whose_directory_vanished_is_not_in_sync(cluster: Cluster) -> None:
    come_back_without_a_copy(cluster)
    assert (set(cluster.state.isr), cluster.state.leader) == ({2, 3}, -1)
    cluster.start()
    cluster.until(lambda: set(cluster.state.isr) == {1, 2, 3})
    assert cluster.partition(1).log.end_offset == cluster.partition(2).log.end_offset > 0


def test_without_the_list_of_replicas_a_vanished_one_passes_for_a_new_one(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    vanished_replicas_are_new(monkeypatch)
    with pytest.raises(AssertionError, match=r"no-ack-lost|in-sync"):
        come_back_without_a_copy(cluster)


def test_a_replica_that_vanished_is_not_in_sync_after_a_crash_of_its_next_start(cluster: Cluster) -> None:
    """Its directory is there again by then, and empty."""
    cluster.create_topic(min_insync_replicas="1")
    cluster.produce(2.0)
    for host in cluster.world.hosts[1:]:
        cluster.world.kill(host)
    delete_copy(cluster, 1)
    host = cluster.world.hosts[0]
    cluster.world.start(host)
    cluster.until(lambda: host.disk.node(f"/data/logs/{TOPIC}-0/topic.id") is not None)
    assert 1 in cluster.state.isr
    cluster.world.kill(host)
    cluster.world.start(host)
    cluster.run(5.0)
    assert 1 not in cluster.state.isr


def test_the_last_in_sync_whose_directory_vanished_does_not_lead(cluster: Cluster) -> None:
    cluster.create_topic(min_insync_replicas="1")
    cluster.produce(1.0)
    leave_alone(cluster, 1)
    delete_copy(cluster, 1)
    cluster.world.start(cluster.world.hosts[0])
    cluster.until(lambda: cluster.state.damaged == (1,))
    cluster.run(3.0)
    assert cluster.state.leader == -1


def test_a_topic_whose_brokers_lost_power_before_they_opened_it_is_no_damage(cluster: Cluster) -> None:
    """Nothing was ever in it."""
    loop = cluster.world.client_loop("admin")
    work = create_topic(Directory(cluster.world, loop, Random(1)), TOPIC, 1, 3, {})
    cluster.world.spawn(loop, work)
    cluster.until(lambda: TOPIC in cluster.checks.image().topics)
    for host in cluster.world.hosts:
        cluster.world.lose_power(host)
    cluster.start()
    cluster.until(lambda: cluster.state.leader > 0)
    assert (cluster.state.damaged, set(cluster.state.isr)) == ((), {1, 2, 3})
