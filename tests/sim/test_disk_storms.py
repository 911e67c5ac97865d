"""Disks that hang, fail for a moment or are full to the last byte: what brokers do about it, and that storms notice."""

from collections.abc import Iterator
from random import Random

import pytest

from headrace.broker.disk.watch import DiskWatch
from headrace.broker.membership.membership import Membership
from sim.clients import Directory, Producer, create_topic, delete_records, elect_preferred, move_partition
from sim.cluster import LEASE_SECONDS, TOPIC, Cluster
from sim.disk_teeth import DISK_TEETH, an_unclean_start_trusts_names
from sim.host import Host
from sim.storm import run_storm
from sim.teeth import SEEDS, Tooth


@pytest.mark.parametrize("tooth", DISK_TEETH, ids=lambda tooth: tooth.name)
def test_a_broken_rule_about_disks_is_found(tooth: Tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth.breaks(monkeypatch)
    for seed in range(1, SEEDS + 1):
        breach = run_storm(tooth.plan._replace(seed=seed)).breach
        if breach is not None:
            assert breach.invariant in tooth.caught_by, (seed, breach)
            return
    pytest.fail(f"{tooth.name}: no seed of {SEEDS} noticed")


@pytest.fixture
def alone() -> Iterator[Cluster]:
    made = Cluster(1)
    yield made
    made.world.end()


def lose_power_after_a_failed_sync_of_names(cluster: Cluster) -> None:
    """The disk fails while it is to keep the name of a new segment. The next life of the broker takes that segment up and
    acknowledges more; then the power goes. Again and again, since a power cut takes only some of what it may take."""
    (host,) = cluster.world.hosts
    cluster.start()
    cluster.create_topic(segment_ms="2000")
    for _ in range(8):
        _lose_power_after_one(cluster, host)


def _lose_power_after_one(cluster: Cluster, host: Host) -> None:
    producer = writer(cluster)
    cluster.run(0.5)
    host.disk.fail_directory_syncs.append(f"/logs/{TOPIC}-0")
    host.is_hurt = True
    cluster.until(lambda: not host.is_up)
    cluster.start()
    producer.stopping = True
    cluster.until(lambda: producer.is_done)
    cluster.world.lose_power(host)
    cluster.start()
    cluster.run(0.5)


def test_names_of_a_failed_sync_are_durable_before_the_next_ack(alone: Cluster) -> None:
    lose_power_after_a_failed_sync_of_names(alone)
    assert len(alone.partition(1).log.segments.all) > 8


def test_without_that_acknowledged_segments_are_lost(alone: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test before this one is known to show something."""
    an_unclean_start_trusts_names(monkeypatch)
    with pytest.raises(AssertionError, match="in-sync"):
        lose_power_after_a_failed_sync_of_names(alone)


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(3)
    made.start()
    made.create_topic(min_insync_replicas="2")
    made.produce(2.0)
    yield made
    made.world.end()


def hang(cluster: Cluster, broker_id: int) -> None:
    cluster.world.hosts[broker_id - 1].disk_hangs = True


def writer(cluster: Cluster) -> Producer:
    """Writes on; what it was told by then is in `cluster.checks.acks`."""
    return Producer(cluster.world, cluster.checks, len(cluster.world.loops), TOPIC, 1, pace=0.05)


def test_a_leader_whose_disk_hangs_is_replaced(cluster: Cluster) -> None:
    """Within the lease plus a second, however long it hangs; and it comes back when the disk does."""
    leader = cluster.state.leader
    writer(cluster)
    cluster.run(1.0)
    hang(cluster, leader)
    cluster.run(0.2)
    acks = cluster.checks.acks
    cluster.run(LEASE_SECONDS + 1.0 - 0.2)
    assert cluster.state.leader != leader
    assert cluster.checks.acks > acks
    acks = cluster.checks.acks
    cluster.run(60.0)
    assert cluster.checks.acks > acks + 100
    cluster.world.hosts[leader - 1].disk_hangs = False
    cluster.until(lambda: leader in cluster.state.isr)


def test_a_leader_whose_disk_hangs_again_and_again_is_replaced_as_soon_each_time(cluster: Cluster) -> None:
    leader = cluster.state.leader
    writer(cluster)
    for _ in range(4):
        hang_until_others_lead(cluster, leader)
        cluster.world.hosts[leader - 1].disk_hangs = False
        cluster.until(lambda: leader in cluster.state.isr)
        give_back(cluster, leader)


def test_who_stays_away_since_its_disk_hung_often_is_back_when_another_dies(cluster: Cluster) -> None:
    leader = cluster.state.leader
    host = cluster.world.hosts[leader - 1]
    host.node.broker.disk_watch.recent_hangs = 7
    writer(cluster)
    hang_until_others_lead(cluster, leader)
    host.disk_hangs = False
    cluster.run(4.0)
    assert leader not in cluster.state.isr, "it stays away"
    cluster.world.kill(cluster.world.hosts[cluster.state.leader - 1])
    cluster.run(0.2)
    acks = cluster.checks.acks
    cluster.run(LEASE_SECONDS + 1.0 - 0.2)
    assert leader in cluster.state.isr
    assert cluster.checks.acks > acks


def hang_until_others_lead(cluster: Cluster, leader: int) -> None:
    """Within the lease plus a second."""
    hang(cluster, leader)
    cluster.run(0.2)
    acks = cluster.checks.acks
    cluster.run(LEASE_SECONDS + 1.0 - 0.2)
    assert cluster.state.leader != leader
    assert cluster.checks.acks > acks


def give_back(cluster: Cluster, leader: int) -> None:
    """The leadership that is its own by preference: asked for until it has it, since any broker may be asked."""
    loop = cluster.world.client_loop("elector")
    for _ in range(10):
        cluster.until(cluster.world.spawn(loop, elect_preferred(Directory(cluster.world, loop, Random(6)))).done)
        if cluster.state.leader == leader:
            break
    cluster.run(1.0)


def overload(cluster: Cluster) -> list[int]:
    """All disks hang for three seconds, again and again; how many brokers kept their lease each time."""
    writer(cluster)
    kept = []
    for _ in range(5):
        before = epochs(cluster)
        for host in cluster.world.hosts:
            host.disk_hangs = True
        cluster.run(3.0)
        acks = cluster.checks.acks
        for host in cluster.world.hosts:
            host.disk_hangs = False
        cluster.run(3.0)
        assert cluster.checks.acks > acks
        kept.append(sum(one == other for one, other in zip(before, epochs(cluster), strict=True)))
    return kept


def epochs(cluster: Cluster) -> list[int]:
    return [host.node.broker.view.epoch for host in cluster.world.hosts if host.node is not None]


def test_brokers_on_one_overloaded_disk_do_not_all_leave(cluster: Cluster) -> None:
    """Those that are left after the first could commit nothing without each other."""
    kept = overload(cluster)
    assert sum(kept) > 2, kept


def test_without_a_look_at_the_others_they_all_leave(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test before this one is known to show something."""
    monkeypatch.setattr(Membership, "_can_be_spared", lambda self: True)
    kept = overload(cluster)
    assert sum(kept) <= 2, kept


def test_without_a_watch_over_the_disk_it_leads_on(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the test before this one is known to show something."""
    monkeypatch.setattr(DiskWatch, "on_tick", lambda self: None)
    leader = cluster.state.leader
    writer(cluster)
    hang(cluster, leader)
    cluster.run(60.0)
    assert cluster.state.leader == leader


def test_a_follower_whose_disk_hangs_holds_up_nobody(cluster: Cluster) -> None:
    leader = cluster.state.leader
    follower = next(each for each in cluster.state.isr if each != leader)
    writer(cluster)
    cluster.run(1.0)
    hang(cluster, follower)
    cluster.run(0.2)
    acks = cluster.checks.acks
    cluster.run(LEASE_SECONDS + 1.0 - 0.2)
    assert follower not in cluster.state.isr
    assert cluster.checks.acks > acks
    acks = cluster.checks.acks
    cluster.run(20.0)
    assert cluster.checks.acks > acks + 50
    cluster.world.hosts[follower - 1].disk_hangs = False
    cluster.until(lambda: follower in cluster.state.isr)


def test_a_slow_disk_costs_nobody_its_lease(cluster: Cluster) -> None:
    """Syncs of half a second and more, one after the other."""
    leader = cluster.state.leader
    before = epochs(cluster)
    for host in cluster.world.hosts:
        host.work_seconds = lambda: 0.7  # type: ignore[method-assign]
        host.loop._work_seconds = host.work_seconds
    writer(cluster)
    cluster.run(30.0)
    assert cluster.state.leader == leader
    assert epochs(cluster) == before


def test_a_disk_that_hangs_while_it_opens_a_topic_keeps_nobody_from_the_news(cluster: Cluster) -> None:
    """With nothing else to do: no write tells it that the disk hangs before the topic does."""
    victim = cluster.state.leader
    hang(cluster, victim)
    loop = cluster.world.client_loop("second admin")
    cluster.world.spawn(loop, create_topic(Directory(cluster.world, loop, Random(2)), "second", 3, 3, {}))
    cluster.run(0.5)
    moved = cluster.world.client_loop("third admin")
    replicas = [each for each in (1, 2, 3) if each != victim] + [victim]
    work = move_partition(Directory(cluster.world, moved, Random(3)), TOPIC, 0, replicas)
    cluster.world.spawn(moved, work)
    cluster.run(60.0)
    assert cluster.state.leader != victim
    cluster.world.hosts[victim - 1].disk_hangs = False
    cluster.until(lambda: victim in cluster.state.isr)


def test_a_wide_topic_holds_up_no_fail_over(cluster: Cluster) -> None:
    """To open it takes every broker many times its lease, on disks that are slow but answer."""
    for host in cluster.world.hosts:
        host.loop._work_seconds = lambda: 0.5
    loop = cluster.world.client_loop("wide admin")
    cluster.world.spawn(loop, create_topic(Directory(cluster.world, loop, Random(5)), "wide", 300, 3, {}))
    writer(cluster)
    cluster.run(3.0)
    dead = cluster.state.leader
    cluster.world.kill(cluster.world.hosts[dead - 1])
    cluster.run(LEASE_SECONDS + 1.0)
    assert cluster.state.leader != dead
    leader = cluster.partition(cluster.state.leader)
    assert leader.is_leader, "the new leader knows"
    acks = cluster.checks.acks
    cluster.run(6.0)
    assert cluster.checks.acks > acks
    assert any(len(host.partitions()) < 301 for host in cluster.world.hosts if host.is_up), "the topic is still opened"


SMALL_BYTES = 40 << 20


def test_a_disk_full_to_the_last_byte_is_emptied_by_retention() -> None:
    cluster = Cluster(3)
    cluster.world.overrides["log.retention.check.interval.ms"] = "2000"
    for host in cluster.world.hosts:
        host.disk.capacity_bytes = SMALL_BYTES
    cluster.start()
    cluster.create_topic(min_insync_replicas="2", segment_ms="1000", retention_ms="20000")
    cluster.checks.on_deletion(TOPIC, 0, 1 << 40)
    cluster.produce(8.0)
    for host in cluster.world.hosts:
        host.disk.capacity_bytes = host.disk.used_bytes()
    cluster.until(lambda: all(len(cluster.partition(each).log.segments.all) == 1 for each in (1, 2, 3)))
    cluster.world.end()


@pytest.mark.parametrize("role", ["leader", "follower"])
def test_a_disk_full_to_the_last_byte_is_emptied_by_a_deletion(role: str) -> None:
    cluster = Cluster(3)
    for host in cluster.world.hosts:
        host.disk.capacity_bytes = SMALL_BYTES
    cluster.start()
    cluster.create_topic(min_insync_replicas="2", segment_ms="1000")
    cluster.produce(8.0)
    leader = cluster.state.leader
    victim = leader if role == "leader" else next(each for each in cluster.state.isr if each != leader)
    disk = cluster.world.hosts[victim - 1].disk
    disk.capacity_bytes = disk.used_bytes()
    writer(cluster)
    cluster.run(6.0)
    before = cluster.partition(leader).log.end_offset - 10
    cluster.checks.on_deletion(TOPIC, 0, before)
    loop = cluster.world.client_loop("deleter")
    cluster.world.spawn(loop, delete_records(Directory(cluster.world, loop, Random(4)), TOPIC, 0, before))
    cluster.until(lambda: cluster.partition(victim).log.segments.all[0].base_offset > before - 100)
    disk.capacity_bytes = SMALL_BYTES
    cluster.until(lambda: len(cluster.state.isr) == 3)
    cluster.world.end()
