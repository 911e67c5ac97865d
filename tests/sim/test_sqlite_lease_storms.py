"""The SQLite leases keep their promises whatever happens to processes, clocks and files; without one rule they do not."""

import pytest

from sim.sqlite_lease_storms import run_sqlite_lease_storm
from sim.sqlite_lease_teeth import LEASE_TEETH

SEEDS = 20
TEETH_SEEDS = 40


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_a_storm(seed: int) -> None:
    outcome = run_sqlite_lease_storm(seed)
    assert outcome.breach is None, outcome
    assert outcome.acks > 20


def test_a_seed_tells_one_story() -> None:
    assert run_sqlite_lease_storm(7) == run_sqlite_lease_storm(7)


@pytest.mark.parametrize("tooth", LEASE_TEETH, ids=lambda tooth: tooth.__name__)
def test_a_rule_that_is_taken_away_is_missed(tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth(monkeypatch)
    for seed in range(1, TEETH_SEEDS + 1):
        breach = run_sqlite_lease_storm(seed).breach
        if breach is not None:
            assert breach.invariant in LEASE_TEETH[tooth], (seed, breach)
            return
    pytest.fail(f"{tooth.__name__}: no seed of {TEETH_SEEDS} noticed")
