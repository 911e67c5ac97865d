"""A guard taken out of one function, told in a line: most rules of security are one."""

from collections.abc import Callable
from typing import Any

from pytest import MonkeyPatch

from sim.mutant import Break, Mutant, edit
from sim.mutants.plays import by_test


def without(rule: str, function: Callable[..., Any], guard: str, instead: str = "if False:") -> Break:
    def breaks(patch: MonkeyPatch) -> None:
        edit(patch, function, (guard, instead))

    breaks.__doc__ = rule
    return breaks


def caught_by(file: str, *mutants: tuple[str, str, Break]) -> tuple[Mutant, ...]:
    """Mutants by name, the test of this file that catches each, and what is taken away."""
    return tuple(by_test(name, breaks, f"{file}::{test}") for name, test, breaks in mutants)
