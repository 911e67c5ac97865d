"""Rules of coordinators, each as a story; and that the story shows it when the rule is taken away."""

from typing import Any

import pytest

from headrace.broker.coordinators.decision_log import DecisionLog
from headrace.broker.disk import log_reading
from headrace.partition.partition import Partition
from sim.test_coordinators_in_trouble import OFFSET, OFFSETS, Coordinated, cluster, one, three

__all__ = ["cluster"]


def commit_while_followers_are_cut_off(cluster: Coordinated) -> int | None:
    """What a commit is answered that no follower can have."""
    assert cluster.commit(3) == 0
    state = cluster.checks.state(OFFSETS, cluster.index_of(OFFSETS))
    leader = cluster.world.hosts[state.leader - 1]
    for host in cluster.world.hosts:
        if host is not leader:
            cluster.world.network.cut(host.address, leader.address)
            cluster.world.network.cut(leader.address, host.address)
    return cluster.commit(OFFSET, 1.0)


@three
def test_a_commit_is_answered_when_every_replica_in_sync_has_it(cluster: Coordinated) -> None:
    assert commit_while_followers_are_cut_off(cluster) is None


@three
def test_replies_that_do_not_wait_are_seen(cluster: Coordinated, monkeypatch: pytest.MonkeyPatch) -> None:
    wait = Partition.wait

    def hasty(self: Partition, end: int, acks: int, waiter: Any, part: object) -> bool:
        return not isinstance(waiter, DecisionLog) and wait(self, end, acks, waiter, part)

    monkeypatch.setattr(Partition, "wait", hasty)
    assert commit_while_followers_are_cut_off(cluster) == 0


@one
def test_batches_that_are_replayed_unchecked_are_seen(cluster: Coordinated, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reading, "crc_ok", lambda *batch: True)
    assert cluster.commit(OFFSET) == 0
    cluster.run(1.0)
    cluster.rot(OFFSETS, OFFSET.to_bytes(8, "big"))
    cluster.reload(OFFSETS)
    assert cluster.committed() not in (OFFSET, None)
