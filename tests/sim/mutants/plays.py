"""What a mutant plays that is no storm: a story, or a test that fails without its rule.

    by_story   only a few things in one order miss the rule; told with other timings each time
    by_test    no storm over brokers can miss it, or only one in thousands; the same every time

A test runs in a process of its own, forked, so that the patch is in it and pytest leaves nothing behind. One that fails
before its own lines run, or none that runs at all, says nothing about the rule: `Stale`.
"""

import contextlib
import multiprocessing
import os
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from sim.checks import Breach
from sim.mutant import Break, Mutant, Stale
from sim.storm import Outcome, Plan
from sim.story import Story

CHECKOUT: Final = Path(__file__).resolve().parents[3]
UNIT: Final = "unit"


class UnitTest(NamedTuple):
    """One test, as pytest names it."""

    name: str

    @property
    def plan(self) -> Plan:
        return Plan(scenario=self.name)

    def play(self, plan: Plan, verbose: bool = False) -> Outcome:
        """Plays it as a storm is played: a failure is the breach of the outcome."""
        failure = _run_apart(plan.scenario, verbose)
        breach = None if failure is None else Breach(UNIT, failure)
        return Outcome(plan, breach, 0, 0, 0, 0, 0.0, [])


def by_story(
    name: str, breaks: Break, caught_by: tuple[str, ...], story: Story, beside: tuple[Break, str] | None = None
) -> Mutant:
    return Mutant(name, breaks, caught_by, story.plan, play=story.play, beside=beside)


def by_test(name: str, breaks: Break, test: str, beside: tuple[Break, str] | None = None) -> Mutant:
    unit = UnitTest(test)
    return Mutant(name, breaks, (UNIT,), unit.plan, play=unit.play, beside=beside, storms_max=1)


def _run_apart(test: str, verbose: bool) -> str | None:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_run, args=(test, verbose, theirs))
    process.start()
    theirs.close()
    try:
        told = ours.recv()
    except EOFError:
        told = Stale(f"{test}: its process died")
    process.join()
    if isinstance(told, Stale):
        raise told
    assert told is None or isinstance(told, str)
    return told


def _run(test: str, verbose: bool, pipe: Connection) -> None:
    failures = _Failures()
    # No plugins but one: there are many, and most of a short test would be loading them.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    arguments = ["-q", "-x", "-p", "no:cacheprovider", "-p", "pytest_timeout", "-W", _IMPORTED_BEFORE, test]
    with contextlib.ExitStack() as stack:
        if not verbose:
            silence = stack.enter_context(open(os.devnull, "w"))
            stack.enter_context(contextlib.redirect_stdout(silence))
        os.chdir(CHECKOUT)
        code = pytest.main(arguments, [failures])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or failures.elsewhere:
        pipe.send(Stale(f"{test}: pytest ended with {code!r} {failures.elsewhere}"))
    else:
        pipe.send(failures.of_tests)


# Of modules that the runner has imported already; their asserts are plain ones.
_IMPORTED_BEFORE: Final = "ignore:Module already imported"


class _Failures:
    """What pytest says of the first test that fails."""

    def __init__(self) -> None:
        self.of_tests: str | None = None
        self.elsewhere = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        if not report.failed:
            return
        crash = getattr(report.longrepr, "reprcrash", None)
        said = f"{report.nodeid}: {crash.message if crash is not None else report.longreprtext}"
        if report.when == "call":
            self.of_tests = said
        else:
            self.elsewhere = f"{report.when}: {said}"
