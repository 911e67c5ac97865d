"""Consumer groups of both protocols over real brokers on virtual time, with coordinators that crash."""

from collections.abc import Callable
from itertools import product

import pytest

from headrace.groups.consumer.group import ConsumerGroup
from headrace.groups.offsets.committed import CommittedOffsets
from headrace.groups.offsets.records import OffsetRecord
from sim.group_storm import KINDS, group_plan, run_group_storm

SCENARIOS = ("crashes", "partitions", "pauses", "mixed")
SEEDS = range(1, 3)
TOOTH_SEEDS = 12


@pytest.mark.parametrize(("kind", "scenario", "seed"), list(product(KINDS, SCENARIOS, SEEDS)))
def test_a_storm_breaks_no_rule(kind: str, scenario: str, seed: int) -> None:
    outcome, commits = run_group_storm(group_plan(seed, scenario, 3), kind)
    assert outcome.breach is None, str(outcome)
    assert commits > 0, "nothing was committed, so nothing was tested"


def _give_at_once(*_: object) -> bool:
    return False


def _forget_commits(self: CommittedOffsets, record: OffsetRecord) -> None:
    if record.value is None or record.value.offset % 5:
        apply_offset(self, record)


apply_offset = CommittedOffsets.apply


@pytest.mark.parametrize(
    ("rule", "broken", "instead"),
    [
        ("one-owner", (ConsumerGroup, "is_owned_by_another"), _give_at_once),
        ("no-offset-lost", (CommittedOffsets, "apply"), _forget_commits),
    ],
)
def test_a_group_that_breaks_a_rule_is_found(
    monkeypatch: pytest.MonkeyPatch, rule: str, broken: tuple[type, str], instead: Callable[..., object]
) -> None:
    monkeypatch.setattr(*broken, instead)
    outcomes = (run_group_storm(group_plan(seed, "crashes", 3), "consumer")[0] for seed in range(1, TOOTH_SEEDS + 1))
    assert any(outcome.breach is not None and outcome.breach.invariant == rule for outcome in outcomes)
