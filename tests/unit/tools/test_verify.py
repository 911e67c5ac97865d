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
    assert [step.name for step in verify.choose(["stores"])] == ["stores-sqlite", "stores-sqlite-leases", "stores-etcd"]


def test_without_a_name_it_is_the_whole_and_what_is_apart_runs_by_name() -> None:
    apart = {step.name for step in verify.steps() if step.is_apart}
    assert apart == {"scale", "ecosystem", "spark"}
    assert [step.name for step in verify.choose([])] == [step.name for step in verify.steps() if step.name not in apart]
    assert [step.name for step in verify.choose(["spark"])] == ["spark"]


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


@pytest.mark.parametrize(("spark", "verdict"), [(None, "passed"), ("passed", "passed"), ("FAILED", "FAILED")])
def test_a_part_that_runs_by_name_counts_when_it_ran(
    spark: str | None, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {step.name: verify.Result(step.name, step.what, "passed") for step in verify.choose([])}
    if spark is not None:
        known["spark"] = verify.Result("spark", "", spark)
    monkeypatch.setattr(verify, "recall", lambda _: known)
    shown = verify.table("abc")
    assert f"| all | | {verdict} |" in shown
    assert "| scale | 10,000 partitions at RF 3, 100,000 at RF 1 | not run |" in shown


def test_a_table_is_passed_when_all_parts_are(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {step.name: verify.Result(step.name, step.what, "passed") for step in verify.steps()}
    monkeypatch.setattr(verify, "recall", lambda _: known)
    assert "| all | | passed |" in verify.table("abc")
