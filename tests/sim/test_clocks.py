"""A host whose clock is set days ahead, or back, forgets nothing that is still wanted."""

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.broker.coordinators.ages import Ages
from headrace.broker.upkeep import credible_time
from headrace.broker.upkeep.credible_time import CredibleTime
from sim.cluster import TOPIC
from sim.host import DAY_SECONDS
from sim.test_coordinators_in_trouble import OFFSET, OFFSETS, Coordinated

SETTINGS = {
    "offsets.retention.check.interval.ms": "1000",
    "offsets.topic.num.partitions": "1",
    "log.retention.check.interval.ms": "1000",
}


@pytest.fixture
def cluster() -> Iterator[Coordinated]:
    made = Coordinated(3, settings=SETTINGS)
    made.start()
    made.create_topic(min_insync_replicas="2", segment_ms="500")
    made.produce(3.0)
    assert made.commit(OFFSET) == 0
    yield made
    made.world.end()


def set_clocks(cluster: Coordinated, days: float) -> None:
    for host in cluster.world.hosts:
        host.clock.days += days


def all_clocks_are_set_ahead(cluster: Coordinated) -> None:
    set_clocks(cluster, 9)
    cluster.run(5.0)


def clocks_differ_when_another_coordinates(cluster: Coordinated) -> None:
    """The first one's is far behind, and so are its stamps."""
    for host in cluster.world.hosts:
        host.clock.skew += 9 * DAY_SECONDS
    index = cluster.index_of(OFFSETS)
    host = cluster.world.hosts[cluster.checks.state(OFFSETS, index).leader - 1]
    cluster.world.kill(host)
    for other in cluster.world.hosts:
        if other is not host:
            cluster.world.kill(other)
            cluster.world.start(other)
    cluster.until(lambda: cluster.checks.state(OFFSETS, index).leader not in (-1, host.id))
    cluster.run(5.0)
    cluster.world.start(host)
    cluster.run(2.0)


def no_clock_is_doubted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(CredibleTime, "of", lambda self, now: now)


def all_ages_are_known(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Ages, "are_known", lambda self, kept_ms: True)


def test_committed_offsets_stay_when_clocks_are_set_ahead(cluster: Coordinated) -> None:
    all_clocks_are_set_ahead(cluster)
    assert cluster.committed() == OFFSET


def test_committed_offsets_stay_when_the_clock_of_another_coordinator_is_ahead(cluster: Coordinated) -> None:
    clocks_differ_when_another_coordinates(cluster)
    assert cluster.committed() == OFFSET


def test_records_stay_when_clocks_are_set_ahead(cluster: Coordinated) -> None:
    all_clocks_are_set_ahead(cluster)
    assert cluster.partition(cluster.checks.state(TOPIC, 0).leader).log.start_offset == 0


def test_in_the_end_the_clock_is_believed(cluster: Coordinated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credible_time, "DOUBT_SECONDS", 8.0)
    set_clocks(cluster, 9)
    cluster.run(5.0)
    cluster.checks.on_deletion(TOPIC, 0, 1 << 40)
    cluster.run(5.0)
    assert cluster.partition(cluster.checks.state(TOPIC, 0).leader).log.start_offset > 0


@pytest.mark.parametrize(
    ("breaks", "story"),
    [
        ((no_clock_is_doubted, all_ages_are_known), all_clocks_are_set_ahead),
        ((all_ages_are_known,), clocks_differ_when_another_coordinates),
    ],
)
def test_without_the_rule_they_go(
    breaks: Any, story: Any, cluster: Coordinated, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in breaks:
        each(monkeypatch)
    cluster.checks.on_deletion(TOPIC, 0, 1 << 40)
    story(cluster)
    assert cluster.committed() == -1
