"""A thousand power cuts: whatever was synced is there afterwards, byte for byte, and nothing that never was.

A failing seed is printed with the command that plays it again. CRASH_SEEDS says how many seeds run, CRASH_SEED which.
"""

import os

import pytest

import headrace.log.scan
from headrace.log.snapshots import Snapshots
from sim.log_storm import LogStorm, Rules

SEEDS = int(os.environ.get("CRASH_SEEDS", "1000"))
BLOCK = 100
ONE_SEED = os.environ.get("CRASH_SEED")


def storm(seed: int, rules: Rules | None = None) -> None:
    LogStorm(seed, rules or Rules()).run(lives=3, steps=25)


@pytest.mark.parametrize("first", [int(ONE_SEED)] if ONE_SEED else range(0, SEEDS, BLOCK))
def test_synced_batches_survive_any_crash(first: int) -> None:
    for seed in range(first, first + 1 if ONE_SEED else min(first + BLOCK, SEEDS)):
        try:
            storm(seed)
        except Exception:
            print(f"replay: CRASH_SEED={seed} .venv/bin/python -m pytest tests/sim/test_log_crashes.py -k survive")
            raise


@pytest.mark.parametrize(
    "rules",
    [
        Rules(lies_about_files=True),
        Rules(lies_about_directories=True),
        Rules(checkpoints_synced_end=False),
        Rules(lowers_recovery_point=False),
    ],
    ids=["no file sync", "no directory sync", "recovery point ahead of the sync", "recovery point above a truncation"],
)
def test_a_broken_rule_is_noticed(rules: Rules) -> None:
    assert seeds_that_fail(rules) > 0


def test_a_recovery_that_trusts_every_byte_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(headrace.log.scan, "crc_ok", lambda buf, pos, size: True)
    assert seeds_that_fail(Rules()) > 0


def test_snapshots_of_a_history_that_was_cut_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Snapshots, "remove_above", lambda self, offset: None)
    assert seeds_that_fail(Rules()) > 0


def seeds_that_fail(rules: Rules) -> int:
    failed = 0
    for seed in range(200):
        try:
            storm(seed, rules)
        except Exception:
            failed += 1
            break
    return failed
