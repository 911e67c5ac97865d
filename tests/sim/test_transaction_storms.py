"""Transactions in storms; and that broken rules of transactions are found."""

import pytest

from sim.storm import run_storm
from sim.teeth import SEEDS, Tooth
from sim.transaction_teeth import TRANSACTION_TEETH


@pytest.mark.parametrize("tooth", TRANSACTION_TEETH, ids=lambda tooth: tooth.name)
def test_a_broken_rule_of_transactions_is_found(tooth: Tooth, monkeypatch: pytest.MonkeyPatch) -> None:
    tooth.breaks(monkeypatch)
    for seed in range(1, SEEDS + 1):
        breach = run_storm(tooth.plan._replace(seed=seed)).breach
        if breach is not None:
            assert breach.invariant in tooth.caught_by, (seed, breach)
            return
    pytest.fail(f"{tooth.name}: no seed of {SEEDS} noticed")
