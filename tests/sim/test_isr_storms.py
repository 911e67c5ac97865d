"""Storms over changes of in-sync sets notice each rule about them that is taken away."""

import pytest

from sim.isr_teeth import ISR_TEETH, SEEDS
from sim.teeth import Tooth


@pytest.mark.timeout(400)
@pytest.mark.parametrize("tooth", ISR_TEETH, ids=lambda tooth: tooth.name)
def test_a_broken_rule_is_found(tooth: Tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth.breaks(monkeypatch)
    for seed in range(1, SEEDS + 1):
        breach = tooth.play(tooth.storm(seed), False).breach
        # Without the rule a storm may end otherwise before it shows what the rule is for: then the next one is asked.
        if breach is not None and breach.invariant in tooth.caught_by:
            return
    pytest.fail(f"{tooth.name}: no seed of {SEEDS} noticed")
