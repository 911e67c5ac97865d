"""The etcd adapter keeps its promises over lost, late and repeated messages; without any one of its rules it does not."""

import pytest

from sim.etcd_storms import run_etcd_storm
from sim.etcd_teeth import ETCD_TEETH

SEEDS = 12
TEETH_SEEDS = 24


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_a_storm(seed: int) -> None:
    outcome = run_etcd_storm(seed)
    assert outcome.breach is None, outcome
    assert outcome.acks > 10


def test_a_seed_tells_one_story() -> None:
    assert run_etcd_storm(7) == run_etcd_storm(7)


@pytest.mark.parametrize("tooth", ETCD_TEETH, ids=lambda tooth: tooth.__name__)
def test_a_rule_that_is_taken_away_is_missed(tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth(monkeypatch)
    for seed in range(1, TEETH_SEEDS + 1):
        breach = run_etcd_storm(seed).breach
        if breach is not None:
            assert breach.invariant in ETCD_TEETH[tooth], (seed, breach)
            return
    pytest.fail(f"{tooth.__name__}: no seed of {TEETH_SEEDS} noticed")
