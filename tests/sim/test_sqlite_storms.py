"""The SQLite map keeps its promises on a disk that fails and loses power; without any one of its rules it does not."""

import pytest

from sim.sqlite_storms import run_sqlite_storm
from sim.sqlite_teeth import SQLITE_TEETH

SEEDS = 20
TEETH_SEEDS = 20


@pytest.mark.parametrize("seed", range(1, SEEDS + 1))
def test_a_storm(seed: int) -> None:
    outcome = run_sqlite_storm(seed)
    assert outcome.breach is None, outcome
    assert outcome.acks > 5


def test_a_seed_tells_one_story() -> None:
    assert run_sqlite_storm(7) == run_sqlite_storm(7)


@pytest.mark.parametrize("tooth", SQLITE_TEETH, ids=lambda tooth: tooth.__name__)
def test_a_rule_that_is_taken_away_is_missed(tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth(monkeypatch)
    for seed in range(1, TEETH_SEEDS + 1):
        breach = run_sqlite_storm(seed).breach
        if breach is not None:
            assert breach.invariant in SQLITE_TEETH[tooth], (seed, breach)
            return
    pytest.fail(f"{tooth.__name__}: no seed of {TEETH_SEEDS} noticed")
