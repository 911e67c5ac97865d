"""The storms find what they are there to find: every broken variant is caught by some seed of a small range."""

import pytest

from sim.storm import run_storm
from sim.teeth import SEEDS, TEETH, Tooth


@pytest.mark.parametrize("tooth", TEETH, ids=lambda tooth: tooth.name)
def test_a_broken_rule_is_found(tooth: Tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth.breaks(monkeypatch)
    for seed in range(1, SEEDS + 1):
        breach = run_storm(tooth.plan._replace(seed=seed)).breach
        if breach is not None:
            assert breach.invariant in tooth.caught_by, (seed, breach)
            return
    pytest.fail(f"{tooth.name}: no seed of {SEEDS} noticed")
