"""Consumer groups of both protocols over real brokers on virtual time, with coordinators that crash."""

from itertools import product

import pytest

from sim.group_storm import KINDS, group_plan, run_group_storm

SCENARIOS = ("crashes", "partitions", "pauses", "mixed")
SEEDS = range(1, 3)


@pytest.mark.parametrize(("kind", "scenario", "seed"), list(product(KINDS, SCENARIOS, SEEDS)))
def test_a_storm_breaks_no_rule(kind: str, scenario: str, seed: int) -> None:
    outcome, commits = run_group_storm(group_plan(seed, scenario, 3), kind)
    assert outcome.breach is None, str(outcome)
    assert commits > 0, "nothing was committed, so nothing was tested"
