"""Followers that start over: only in the epoch in which it was decided, and only if it is still needed."""

import pytest

from headrace.broker.replication import copier
from headrace.broker.replication.copier import ReplicaCopier
from sim.restart_stories import REPLACED

SEEDS = 5


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_a_log_that_the_next_leader_counts_on_is_not_dropped(seed: int) -> None:
    assert REPLACED.play(REPLACED.plan._replace(seed=seed)).breach is None


def test_without_the_rule_acknowledged_records_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Either half of it is enough here."""
    monkeypatch.setattr(copier, "_follows_on", lambda partition, position: not partition.is_leader)
    monkeypatch.setattr(ReplicaCopier, "_must_start_over", lambda self, partition, start: True)
    outcomes = (REPLACED.play(REPLACED.plan._replace(seed=seed)) for seed in range(1, SEEDS + 1))
    breach = next((outcome.breach for outcome in outcomes if outcome.breach is not None), None)
    assert breach is not None
    assert breach.invariant in ("in-sync", "synced-ack", "no-ack-lost")
