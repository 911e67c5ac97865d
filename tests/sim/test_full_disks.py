"""Leaders on a full disk: replicas that have room lead instead, and nobody moves where nobody has room."""

from collections.abc import Iterator
from random import Random

import pytest

from sim.clients import Directory, Producer, elect_preferred
from sim.full_disk_teeth import FULL_DISK_TEETH, a_full_disk_leads_on
from sim.host import SimClock
from sim.storm import run_storm
from sim.teeth import SEEDS, Tooth
from sim.test_found import TOPIC, Cluster

LEAST_SECONDS = 3.0


@pytest.mark.parametrize("tooth", FULL_DISK_TEETH, ids=lambda tooth: tooth.name)
def test_a_broken_rule_about_full_disks_is_found(tooth: Tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth.breaks(monkeypatch)
    for seed in range(1, SEEDS + 1):
        breach = run_storm(tooth.plan._replace(seed=seed)).breach
        if breach is not None:
            assert breach.invariant in tooth.caught_by, (seed, breach)
            return
    pytest.fail(f"{tooth.name}: no seed of {SEEDS} noticed")


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    made = Cluster(3)
    made.world.overrides["leader.imbalance.check.interval.seconds"] = "2"
    made.start()
    made.create_topic(min_insync_replicas="2")
    made.produce(2.0)
    yield made
    made.world.end()


def fill(cluster: Cluster, *broker_ids: int) -> None:
    for broker_id in broker_ids:
        disk = cluster.world.hosts[broker_id - 1].disk
        disk.capacity_bytes = disk.used_bytes()


def empty(cluster: Cluster, *broker_ids: int) -> None:
    for broker_id in broker_ids:
        cluster.world.hosts[broker_id - 1].disk.capacity_bytes = None


def write(cluster: Cluster) -> None:
    Producer(cluster.world, cluster.checks, len(cluster.world.loops), TOPIC, 1, pace=0.05)
    cluster.run(1.0)


def test_a_leader_without_room_hands_over_to_one_that_has_it(cluster: Cluster) -> None:
    full = cluster.state.leader
    write(cluster)
    fill(cluster, full)
    acks = cluster.checks.acks
    cluster.run(LEAST_SECONDS)
    assert cluster.state.leader != full
    assert cluster.checks.acks > acks + 10


def test_it_leads_again_only_when_there_is_room(cluster: Cluster) -> None:
    """Neither the controller's balance nor somebody who asks for the preferred leader gives it back before."""
    full = cluster.state.replicas[0]
    write(cluster)
    fill(cluster, full)
    cluster.until(lambda: cluster.state.leader != full)
    loop = cluster.world.client_loop("elector")
    for _ in range(3):
        cluster.world.spawn(loop, elect_preferred(Directory(cluster.world, loop, Random(1))))
        cluster.run(5.0)
        assert cluster.state.leader != full
    empty(cluster, full)
    cluster.until(lambda: cluster.state.leader == full)


def test_brokers_on_one_disk_keep_their_leaders(monkeypatch: pytest.MonkeyPatch) -> None:
    """One says that it is full before the others do, and one that it is not."""
    monkeypatch.setattr(SimClock, "boot_id", lambda self: "one machine")
    made = Cluster(3)
    made.start()
    made.create_topic(min_insync_replicas="2")
    write(made)
    epoch = made.state.leader_epoch
    for change in (fill, empty, fill, empty):
        for broker_id in (1, 2, 3):
            change(made, broker_id)
            made.run(0.3)
        made.run(3.0)
    assert made.state.leader_epoch == epoch
    made.world.end()


def test_where_nobody_has_room_nobody_moves(cluster: Cluster) -> None:
    write(cluster)
    fill(cluster, 1, 2, 3)
    cluster.run(5.0)
    settled = cluster.state.leader_epoch
    cluster.run(30.0)
    assert cluster.state.leader_epoch == settled
    acks = cluster.checks.acks
    empty(cluster, 1, 2, 3)
    cluster.until(lambda: cluster.checks.acks > acks + 10)


def test_without_that_rule_it_leads_on(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the first test is known to show something."""
    a_full_disk_leads_on(monkeypatch)
    full = cluster.state.leader
    write(cluster)
    fill(cluster, full)
    cluster.run(LEAST_SECONDS)
    assert cluster.state.leader == full
