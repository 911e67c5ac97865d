"""Mutants fit the code they are made for, and the table of the documents lists exactly those that there are."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.log.producers import Producers
from sim import checks
from sim.checks import Breach
from sim.faults import SCENARIOS
from sim.mutant import Mutant, Stale, edit
from sim.mutants.catalog import MUTANTS
from sim.mutants.plays import CHECKOUT, UNIT, by_test
from sim.mutants.report import Result, cells, rows, write_into
from sim.mutants.runner import choose, play
from sim.storm import Outcome, Plan, run_storm

DOCUMENT = CHECKOUT / "docs" / "guarantees.md"
ROWS = rows(DOCUMENT.read_text())


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_fits_the_code(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.take_away(monkeypatch)
    assert mutant.rule.endswith((".", ")")), "the docstring of what takes a rule away is that rule, in a sentence"
    # The plan of a story names it, and that of a test too.
    assert mutant.play is not run_storm or all(plan.scenario in SCENARIOS for plan in mutant.plans)


def test_names_are_unique() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_the_table_lists_exactly_the_mutants_that_there_are() -> None:
    assert list(ROWS) == [mutant.name for mutant in MUTANTS], (
        "make mutants ARGS=--markdown=docs/guarantees.md writes it anew"
    )


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_its_row_says_what_catches_it(mutant: Mutant) -> None:
    """Nothing else: none was not played, survived, or does not fit the code."""
    _, rule, caught_by, storm, needed = cells(ROWS[mutant.name])
    assert rule == mutant.rule
    assert caught_by in mutant.caught_by
    assert storm in [plan.scenario for plan in mutant.plans]
    assert 1 <= int(needed) <= mutant.storms_max


TESTS = [mutant.plan.scenario for mutant in MUTANTS if mutant.caught_by == (UNIT,)]


@pytest.mark.parametrize("test", TESTS)
def test_the_test_of_a_mutant_is_there(test: str) -> None:
    path, _, name = test.partition("::")
    assert f"def {name.partition('[')[0]}(" in (CHECKOUT / path).read_text()


def test_each_invariant_may_catch_some_mutant() -> None:
    assert checks.__doc__ is not None
    names = set(re.findall(r"^    ([a-z-]+)  +", checks.__doc__, re.MULTILINE))
    assert {"synced-ack", "no-bug"} <= names
    assert names <= {name for mutant in MUTANTS for name in mutant.caught_by}
    assert all(name in DOCUMENT.read_text() for name in names)


def test_the_parts_are_all_of_them() -> None:
    parts = [choose([], f"{number}/3") for number in (1, 2, 3)]
    assert sorted(each.name for part in parts for each in part) == sorted(each.name for each in MUTANTS)


def test_an_unknown_name_and_an_odd_part_are_refused() -> None:
    with pytest.raises(ValueError, match="no mutant is called"):
        choose(["no-such-mutant"], "1/1")
    with pytest.raises(ValueError, match="--part"):
        choose([], "5/4")


def _half(number: int) -> int:
    return number // 2


def test_a_guard_is_edited_out_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        edit(patch, _half, ("number // 2", "number // 3"))
        assert _half(6) == 2
    assert _half(6) == 3


def test_an_edit_that_no_longer_fits_is_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Stale, match="0 times"):
        edit(monkeypatch, _half, ("number // 4", "number"))


def test_a_breach_that_does_not_come_from_the_rule_is_stale() -> None:
    mutant = Mutant("m", lambda patch: None, ("synced-ack", "no-bug"), Plan())
    mutant.check(Breach("synced-ack", "as expected"))
    with pytest.raises(Stale):
        mutant.check(Breach("dense", "another"))
    with pytest.raises(Stale):
        mutant.check(Breach("no-bug", "TypeError: hasty() takes 2 positional arguments"))


def test_the_table_is_written_in_its_place_and_keeps_what_was_not_played_now(tmp_path: Path) -> None:
    path = tmp_path / "document.md"
    path.write_text(DOCUMENT.read_text())
    first, second = MUTANTS[:2]
    before = rows(path.read_text())
    write_into(path, MUTANTS[:2], [Result(first.name, "caught", "dense", "mixed", 3)])
    after = rows(path.read_text())
    assert list(after) == [first.name, second.name]
    assert after[first.name].endswith("| dense | mixed | 3 |")
    assert after[second.name] == before[second.name]
    assert path.read_text().endswith(DOCUMENT.read_text()[-200:])


# -- what a result rests on --------------------------------------------------------------------------------------------


def _halves_are_thirds(patch: pytest.MonkeyPatch) -> None:
    """Half of a number is half of it."""
    edit(patch, _half, ("number // 2", "number // 3"))


def _mutant(play: Callable[[Plan, bool], Outcome]) -> Mutant:
    return Mutant("thirds", _halves_are_thirds, ("dense",), Plan(), play=play)


def _outcome(plan: Plan, is_broken: bool) -> Outcome:
    return Outcome(plan, Breach("dense", "a hole") if is_broken else None, 0, 0, 0, 0, 0.0, [])


def test_a_storm_that_only_the_mutant_breaks_catches_it() -> None:
    result = play(_mutant(lambda plan, verbose: _outcome(plan, plan.seed == 2 and _half(6) == 2)), 5)
    assert (result.outcome, result.caught_by, result.storms) == ("caught", "dense", 2)


def test_a_storm_that_the_whole_code_breaks_too_is_struck() -> None:
    result = play(_mutant(lambda plan, verbose: _outcome(plan, plan.seed == 2)), 5)
    assert (result.outcome, result.is_caught) == ("struck", False)
    assert "a hole" in result.detail


def test_a_rule_that_no_storm_misses_survives() -> None:
    result = play(_mutant(lambda plan, verbose: _outcome(plan, False)), 5)
    assert (result.outcome, result.storms) == ("survived", 5)


SEQUENCES = "tests/unit/log/test_log_producers.py::test_the_next_sequence_is_in_order"


def _no_sequence_is_checked(patch: pytest.MonkeyPatch) -> None:
    """A batch goes on where the last one of its producer ended."""
    patch.setattr(Producers, "check", lambda self, header: None)


def test_a_test_that_fails_without_the_rule_catches_it() -> None:
    result = play(by_test("sequences", _no_sequence_is_checked, SEQUENCES), 300)
    assert (result.outcome, result.caught_by, result.scenario, result.storms) == ("caught", "unit", SEQUENCES, 1)


def test_a_test_that_passes_without_the_rule_does_not() -> None:
    assert play(by_test("halves", _halves_are_thirds, SEQUENCES), 300).outcome == "survived"


def test_a_test_that_is_not_there_says_nothing() -> None:
    with pytest.raises(Stale, match="pytest ended"):
        play(by_test("halves", _halves_are_thirds, f"{SEQUENCES}_any_more"), 300)
