"""Committed offsets and transactions through storms in which their topics are compacted all the time, on every replica by
itself."""

import pytest

from headrace.log.key_offsets import KeyOffsets
from headrace.log.swap import Swap
from sim import limits
from sim.group_storm import SETTINGS, group_plan, run_group_storm
from sim.runner import plans
from sim.storm import run_storm

RESTLESS = {**SETTINGS, **limits.RESTLESS}


@pytest.fixture
def swaps(monkeypatch: pytest.MonkeyPatch) -> list[Swap]:
    """Of compactions that came to their end."""
    swaps: list[Swap] = []
    finish = Swap.finish

    def note(swap: Swap) -> None:
        swaps.append(swap)
        finish(swap)

    monkeypatch.setattr(Swap, "finish", note)
    return swaps


@pytest.mark.parametrize("scenario", ["crashes", "power-loss", "mixed"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_storm_breaks_no_rule(swaps: list[Swap], scenario: str, seed: int) -> None:
    outcome, commits = run_group_storm(group_plan(seed, scenario, 3), "consumer", settings=RESTLESS)
    assert outcome.breach is None, str(outcome)
    assert commits > 0
    assert swaps, "nothing was compacted, so nothing was tested"


def test_a_compaction_that_takes_too_much_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    newest = KeyOffsets.get
    monkeypatch.setattr(KeyOffsets, "get", lambda self, key: newest(self, key) + 1)
    outcomes = [
        run_group_storm(group_plan(seed, "crashes", 3), "consumer", settings=RESTLESS)[0] for seed in range(1, 4)
    ]
    assert "no-offset-lost" in {outcome.breach.invariant for outcome in outcomes if outcome.breach is not None}


def test_transactions_while_their_topics_are_compacted(swaps: list[Swap]) -> None:
    """Offsets committed in transactions, their markers, and the coordinators' own state; somebody is away for long."""
    plan = next(plan for plan in plans(1, 100, "transactions", 3) if plan.is_restless)
    outcome = run_storm(plan)
    assert outcome.breach is None, str(outcome)
    assert outcome.acks > 0
    assert swaps, "nothing was compacted, so nothing was tested"
