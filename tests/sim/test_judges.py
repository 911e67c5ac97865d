"""Each judge bites: what no tooth of the others shows."""

import pytest

from sim.judge_teeth import JUDGE_TEETH
from sim.storm import plan_for, run_storm
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


def test_a_partition_that_is_made_again_under_its_name_has_a_time_of_its_own() -> None:
    """Its topic was deleted and made again with fewer partitions; it came back as the topic grew, and was called stuck."""
    outcome = run_storm(plan_for(1103, "rot", 3))
    assert outcome.breach is None, outcome.breach
