"""The findings of `doctor`: one per thing looked at, with cause and fix where something is not right."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    name: str
    verdict: Verdict
    text: str
    fix: str = ""


def ok(name: str, text: str) -> Finding:
    return Finding(name, "ok", text)


def warn(name: str, text: str, fix: str) -> Finding:
    return Finding(name, "warn", text, fix)


def fail(name: str, text: str, fix: str) -> Finding:
    return Finding(name, "fail", text, fix)
