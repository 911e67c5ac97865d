"""A broker with one rule taken away, and the storms that must notice.

    Mutant   a rule in one sentence (the docstring of what takes it away), how it is taken away, which storms fit it; or
             which story (`story`) or which test (`mutants.plays`), told and run as storms are played
    edit     takes a guard out of the real code: one piece of a function's source is replaced by another

A piece that is not there exactly once is `Stale`: code that moved on must not make a mutant harmless without a word.
A tooth is a mutant that `make test` plays; `make mutants` plays all of them.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

from pytest import MonkeyPatch

from sim.checks import Breach
from sim.storm import Outcome, Plan, run_storm

Break = Callable[[MonkeyPatch], None]
# An error of this kind is a patch that no longer fits the code, not a rule that was broken.
_STALE_ERRORS = ("TypeError", "AttributeError", "NameError", "UnboundLocalError", "ImportError")


STORMS_MAX = 300


class Stale(Exception):
    """A mutant whose patch does not fit the code any more."""


class Mutant(NamedTuple):
    name: str
    breaks: Break
    """Takes the rule away. Its docstring is the rule."""
    caught_by: tuple[str, ...]
    """The invariants of which some storm must find one broken. Any other breach is a mistake of the mutant."""
    plan: Plan
    """The storm that fits best."""
    others: tuple[Plan, ...] = ()
    """Played in turn with the first."""
    play: Callable[[Plan, bool], Outcome] = run_storm
    beside: tuple[Break, str] | None = None
    """A second rule that always covers for this one, and why: only without both can anything go wrong."""
    storms_max: int = STORMS_MAX
    """One for what is the same every time."""

    @property
    def rule(self) -> str:
        """In words; with the one that is taken away beside it."""
        rule = " ".join((self.breaks.__doc__ or "").split())
        return rule if self.beside is None else f"{rule} ({self.beside[1]})"

    def take_away(self, patch: MonkeyPatch) -> None:
        self.breaks(patch)
        if self.beside is not None:
            self.beside[0](patch)

    @property
    def plans(self) -> tuple[Plan, ...]:
        return self.plan, *self.others

    def storm(self, number: int) -> Plan:
        """The plan of the storm of this number, from 1 on."""
        return self.plans[(number - 1) % len(self.plans)]._replace(seed=number)

    def check(self, breach: Breach) -> None:
        """Raises Stale for a breach that does not come from the missing rule."""
        is_error = breach.invariant in ("no-bug", "unit") and any(error in breach.detail for error in _STALE_ERRORS)
        if breach.invariant not in self.caught_by or is_error:
            raise Stale(f"{self.name}: expected one of {self.caught_by}, found {breach.invariant}: {breach.detail}")


def edit(patch: MonkeyPatch, function: Any, *replacements: tuple[str, str]) -> None:
    """Runs `function` with each piece of its source replaced, for everyone who holds it. No closures, no super()."""
    assert isinstance(function, FunctionType), f"{function} is no plain function; of a property, take fget"
    source = textwrap.dedent(inspect.getsource(function))
    for old, new in replacements:
        if source.count(old) != 1:
            raise Stale(f"{function.__qualname__} has {old!r} {source.count(old)} times, once is expected")
        source = source.replace(old, new)
    tree = ast.parse(source)
    (definition,) = tree.body
    assert isinstance(definition, ast.FunctionDef | ast.AsyncFunctionDef)
    definition.decorator_list = []
    made: dict[str, Any] = {}
    exec(compile(tree, f"<{function.__qualname__} edited>", "exec"), {**function.__globals__}, made)
    code = made[definition.name].__code__
    if code.co_freevars != function.__code__.co_freevars:
        raise Stale(f"{function.__qualname__} uses names of an outer function")
    patch.setattr(function, "__code__", code)
