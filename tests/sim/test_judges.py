"""Each judge bites: what no tooth of the others shows."""

import pytest

from sim.judge_teeth import JUDGE_TEETH
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
