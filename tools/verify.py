"""`make verify`: every check and every test, the long ones too, and at the end one summary that names the commit.

A step that fails does not stop the others. The exit code is 0 only if every step passed within the time limit.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
LIMIT_S = 90 * 60


@dataclass(frozen=True)
class Step:
    name: str
    command: list[str]


@dataclass(frozen=True)
class Result:
    step: Step
    outcome: str
    seconds: float


def steps() -> list[Step]:
    pytest = [sys.executable, "-m", "pytest", "-q"]
    return [
        Step("check", ["make", "check"]),
        Step("tests", [*pytest, "-m", "not long"]),
        Step("simulator", ["make", "sim", "SEEDS=1000"]),
        # Timeout 0: a long test has no time limit of its own, only what is left of the whole.
        Step("long tests", [*pytest, "-m", "long", "--timeout", "0"]),
    ]


def run(step: Step, seconds_left: float) -> Result:
    print(f"\n== {step.name}: {' '.join(step.command)}", flush=True)
    started = time.monotonic()
    try:
        code = subprocess.run(step.command, cwd=CHECKOUT, timeout=max(seconds_left, 1), check=False).returncode
        outcome = "passed" if code == 0 else f"FAILED (exit {code})"
    except subprocess.TimeoutExpired:
        outcome = "FAILED (out of time)"
    return Result(step, outcome, time.monotonic() - started)


def commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = " with uncommitted changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{git('rev-parse', 'HEAD') or 'no commit'}{changed}"


def main() -> int:
    os.environ["CI"] = "true"
    started = time.monotonic()
    results = [run(step, LIMIT_S - (time.monotonic() - started)) for step in steps()]
    print(f"\nVerified commit {commit()}")
    for result in results:
        print(f"  {result.step.name:<12} {result.outcome:<22} {result.seconds:7.0f} s")
    print(f"  {'total':<35} {time.monotonic() - started:7.0f} s of at most {LIMIT_S} s")
    return 0 if all(result.outcome == "passed" for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
