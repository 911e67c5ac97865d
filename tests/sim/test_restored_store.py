"""The metadata store restored from an older copy while all brokers are down, each as the shortest story."""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pytest

from headrace.broker.membership import membership
from headrace.broker.membership.seen_revision import SeenRevision
from headrace.cluster.store import Entry
from headrace.partition.partition import Partition
from sim.checks import Breach
from sim.cluster import Cluster
from sim.host import Host
from sim.storm import plan_for, run_storm
from sim.teeth import SEEDS

# Longer than a checkpoint takes to come.
WRITTEN_DOWN_SECONDS = 7.0


class RestoredCluster(Cluster):
    """Three brokers, a topic of one partition, and a copy of the store to go back to."""

    def __init__(self) -> None:
        super().__init__(3)
        self.start()
        self.create_topic(min_insync_replicas="2")
        self.produce(1.0)
        self._copy: tuple[int, Mapping[str, Entry]] = (0, {})

    def back_up(self) -> None:
        shelf = self.world.shelf
        self._copy = shelf.revision, dict(shelf.entries)

    def stop_and_restore(self) -> None:
        self.kill(*self.world.hosts)
        self.world.restore_store(*self._copy)
        self.checks.on_restored()

    def kill(self, *hosts: Host) -> None:
        for host in hosts:
            if host.is_up:
                self.world.kill(host)

    @property
    def leader(self) -> Host:
        return self.world.hosts[self.state.leader - 1]

    def change_leader(self) -> None:
        """The old one is back and in sync at the end."""
        before = self.leader
        self.kill(before)
        self.until(lambda: self.state.leader > 0 and self.leader is not before)
        self.world.start(before)
        self.until_all_in_sync()

    def until_all_in_sync(self) -> None:
        self.until(lambda: len(self.state.isr) == 3 and self.state.leader > 0)
        self.until(lambda: len(self.ends()) == 1)

    def ends(self) -> set[Any]:
        found = [host.partition("orders", 0) for host in self.world.hosts]
        return {None if each is None else each.log.end_offset for each in found}

    def check_all_acked(self) -> None:
        (end,) = self.ends()
        assert end is not None
        assert end > max(self.checks.acked["orders", 0])


def all_were_in_sync(cluster: RestoredCluster) -> None:
    """Nothing acknowledged is lost, then or by the recoveries after, and followers go on. More epochs are used since the
    copy than the start of three brokers uses up."""
    cluster.back_up()
    for _ in range(4):
        cluster.change_leader()
        cluster.produce(1.0)
    cluster.run(WRITTEN_DOWN_SECONDS)
    cluster.stop_and_restore()
    cluster.start()
    cluster.until_all_in_sync()
    cluster.produce(1.0)
    cluster.kill(*cluster.world.hosts)
    cluster.start()
    cluster.until_all_in_sync()
    cluster.check_all_acked()


def a_later_leader_wrote_nothing(cluster: RestoredCluster) -> None:
    """Its epoch is in no log, and still it is not given to another."""
    cluster.back_up()
    first = cluster.leader
    cluster.kill(first)
    cluster.until(lambda: cluster.state.leader > 0 and cluster.leader is not first)
    later = cluster.leader
    cluster.run(WRITTEN_DOWN_SECONDS)
    cluster.stop_and_restore()
    (third,) = [host for host in cluster.world.hosts if host not in (first, later)]
    cluster.world.start(third)
    cluster.until(lambda: cluster.state.leader == third.id)
    cluster.start()
    cluster.until_all_in_sync()
    cluster.check_all_acked()


def the_same_copy_is_restored_again_and_again(cluster: RestoredCluster) -> None:
    """As by somebody who is not sure that it worked. What was used after one time is not used again after the next."""
    cluster.back_up()
    for first in cluster.world.hosts:
        for _ in range(4):
            cluster.change_leader()
        cluster.run(WRITTEN_DOWN_SECONDS)
        cluster.stop_and_restore()
        cluster.world.start(first)
        cluster.until(lambda first=first: cluster.state.leader == first.id)
        cluster.start()
        cluster.until_all_in_sync()
        cluster.produce(1.0)
    cluster.check_all_acked()


STORIES = (all_were_in_sync, a_later_leader_wrote_nothing, the_same_copy_is_restored_again_and_again)


@pytest.fixture
def cluster() -> Iterator[RestoredCluster]:
    made = RestoredCluster()
    yield made
    made.world.end()


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_acknowledged_records_outlive_a_restored_store(
    story: Callable[[RestoredCluster], None], cluster: RestoredCluster
) -> None:
    story(cluster)


def epochs_go_back(patch: pytest.MonkeyPatch) -> None:
    """The leader epoch goes on above those in the logs, and nobody leads below one of its own."""
    patch.setattr(membership, "_epochs_known", lambda broker: {})
    careful = Partition.on_state

    def careless(self: Partition, state: Any, now: Any) -> None:
        if state.leader == self.broker_id:
            # For good: the log itself would not take a batch of an earlier epoch.
            self.log.state.epochs.latest = -1
        return careful(self, state, now)

    patch.setattr(Partition, "on_state", careless)


def nobody_knows_that_it_went_back(patch: pytest.MonkeyPatch) -> None:
    """A broker that had seen more takes the next epoch and the next producer ids of the store as used."""
    patch.setattr(SeenRevision, "compare", lambda self, revision: None)


def every_restore_skips_alike(patch: pytest.MonkeyPatch) -> None:
    """How many numbers are taken as used since the copy is drawn by chance: the same copy may be restored again."""
    patch.setattr(membership, "_stretch", lambda broker: 1)


def is_caught(breach: Breach | None, invariants: Collection[str]) -> bool:
    """By one of the invariants, or by an assertion of the log's own, which stops the broker first."""
    assert breach is not None
    return breach.invariant in invariants or ("broker" in breach.detail and "AssertionError" in breach.detail)


@pytest.mark.parametrize(
    ("breaks", "story", "invariants"),
    [
        # Whichever shows first: that depends on who leads again under an epoch that was another's.
        (epochs_go_back, all_were_in_sync, ("in-sync", "one-leader")),
        (nobody_knows_that_it_went_back, all_were_in_sync, ("no-duplicate",)),
        (nobody_knows_that_it_went_back, a_later_leader_wrote_nothing, ("one-leader",)),
        (every_restore_skips_alike, the_same_copy_is_restored_again_and_again, ("no-duplicate", "one-leader")),
    ],
    ids=lambda each: each[0] if isinstance(each, tuple) else each.__name__,
)
def test_without_the_rule_the_story_ends_in_a_breach(
    breaks: Callable[[pytest.MonkeyPatch], None],
    story: Callable[[RestoredCluster], None],
    invariants: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    cluster: RestoredCluster,
) -> None:
    breaks(monkeypatch)
    with pytest.raises(AssertionError, match="Breach"):
        story(cluster)
    assert is_caught(cluster.checks.breach, invariants)


@pytest.mark.parametrize(
    ("breaks", "invariants"),
    [(epochs_go_back, ("in-sync", "one-leader")), (nobody_knows_that_it_went_back, ("no-duplicate", "one-leader"))],
    ids=lambda each: each[0] if isinstance(each, tuple) else each.__name__,
)
def test_without_the_rule_some_storm_ends_in_a_breach(
    breaks: Callable[[pytest.MonkeyPatch], None], invariants: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    breaks(monkeypatch)
    breaches = (run_storm(plan_for(seed, "restores", 3)).breach for seed in range(1, SEEDS + 1))
    breach = next((each for each in breaches if each is not None), None)
    assert is_caught(breach, invariants)
