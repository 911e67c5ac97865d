"""Each judge bites, and storms come to where it looks."""

import pytest

from headrace.log.log import Log
from headrace.log.swap import Swap
from sim.judge_teeth import JUDGE_TEETH
from sim.runner import plans
from sim.storm import run_storm
from sim.teeth import SEEDS, Tooth


@pytest.mark.parametrize("tooth", JUDGE_TEETH, ids=lambda tooth: tooth.name)
def test_a_broken_rule_is_found(tooth: Tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth.breaks(monkeypatch)
    for seed in range(1, SEEDS + 1):
        breach = run_storm(tooth.storm(seed)).breach
        if breach is not None:
            assert breach.invariant in tooth.caught_by, (seed, breach)
            return
    pytest.fail(f"{tooth.name}: no seed of {SEEDS} noticed")


@pytest.mark.parametrize("scenario", ["groups", "transactions"])
def test_some_storms_of_each_scenario_compact(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    swaps = []
    finish = Log.finish_swap

    def note(log: Log, swap: Swap) -> None:
        swaps.append(swap)
        finish(log, swap)

    monkeypatch.setattr(Log, "finish_swap", note)
    plan = next(plan for plan in plans(1, SEEDS, scenario, 3) if plan.is_restless)
    outcome = run_storm(plan)
    assert outcome.breach is None, str(outcome)
    assert swaps, "nothing was compacted"
