"""`make verify`: which parts a word on its command line stands for, and how their results add up."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[3]
spec = spec_from_file_location("verify", CHECKOUT / "tools" / "verify.py")
assert spec is not None and spec.loader is not None
verify = module_from_spec(spec)
spec.loader.exec_module(verify)


def test_a_part_is_chosen_by_its_name() -> None:
    assert [step.name for step in verify.choose(["chaos"])] == ["chaos"]
    assert verify.choose(["nothing"]) == []
    assert verify.choose([]) == verify.steps()


def test_the_simulator_plays_every_seed_once() -> None:
    firsts = [step.command[-1] for step in verify.choose(["sim"])]
    assert firsts == [f"ARGS=--first {first}" for first in range(1, 10_001, 1000)]


def test_every_chaos_file_belongs_to_one_part() -> None:
    assert all((CHECKOUT / path).exists() for path in (verify.STORM, verify.KILLS, verify.UPGRADE))


@pytest.mark.parametrize(
    ("outcomes", "verdict"), [(["passed"], "not complete"), (["passed", "FAILED"], "FAILED"), ([], "not complete")]
)
def test_parts_that_did_not_run_are_named(outcomes: list[str], verdict: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = [
        verify.Result(step.name, step.what, outcome) for step, outcome in zip(verify.steps(), outcomes, strict=False)
    ]
    monkeypatch.setattr(verify, "recall", lambda _: {each.name: each for each in known})
    shown = verify.table("abc")
    assert f"| all | | {verdict} |" in shown and "abc" in shown


def test_a_table_is_passed_when_all_parts_are(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {step.name: verify.Result(step.name, step.what, "passed") for step in verify.steps()}
    monkeypatch.setattr(verify, "recall", lambda _: known)
    assert "| all | | passed |" in verify.table("abc")
