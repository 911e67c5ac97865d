"""`make verify`: everything that the issues so far call done, and at the end one table to quote, which names the commit.

The simulator needs processors but no clock, so it runs at low priority beside the tests of real processes, which mostly
wait. A step that fails does not stop the others. Of a step made of tests, those that failed get a second run, alone, and the
table says so. The exit code is 0 only if every step passed within its own time and all of them within 90 minutes.

    python tools/verify.py [STEP …]      these only, by name
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent
LIMIT_S = 90 * 60
END_BYTES = 4096
MAKE = ["make", "--no-print-directory"]
_GATEWAY = ("tests/gateway", "tests/browser")
PASSED, FLAKY, FAILED = "passed", "passed at the second try", "FAILED"


class Step(NamedTuple):
    name: str
    what: str
    command: list[str]
    limit_s: float = LIMIT_S
    again: Sequence[str] = ()
    """Added for a second run of what failed."""
    is_beside: bool = False
    """At low priority beside the others, and shown when it is done."""


class Ran(NamedTuple):
    code: int | None
    """None: out of time."""
    last_line: str


class Result(NamedTuple):
    step: Step
    outcome: str
    detail: str
    seconds: float


def steps() -> list[Step]:
    return [
        Step("check", "lint, format, types, layers", [*MAKE, "check"]),
        _tests("tests", "all of make test, 1,000 simulated crashes of the log among it", "not long"),
        _storms("simulator", "1,000 seeds of storms", "SEEDS=1000", limit_s=40 * 60),
        _storms("transactions", "2,000 seeds of storms over transactions", "SEEDS=2000", "SCENARIO=transactions"),
        _tests("kills", "one broker, kill -9 under load, 50 times", "long", "tests/chaos/test_kill_one_broker.py"),
        _tests("chaos", "three brokers: kills, pauses, disks, links, etcd", "long", *_chaos_without_kills()),
        _tests("scale", "10,000 partitions at RF 3, 100,000 at RF 1", "long", "tests/scale"),
        _tests("clients", "the longer tests of client libraries", "long", "tests/integration"),
        _tests("gateway", "storms over webhooks, keys, pages and the API description", "long", *_GATEWAY),
        _tests("spark", "kills of queries, clusters, Spark Connect, the official connector", "long", "tests/spark"),
    ]


def _storms(name: str, what: str, *arguments: str, limit_s: float = LIMIT_S) -> Step:
    return Step(name, what, ["nice", "-n", "15", *MAKE, "sim", *arguments], limit_s=limit_s, is_beside=True)


def _tests(name: str, what: str, marker: str, *paths: str) -> Step:
    # Timeout 0: a long test has no time limit of its own, only what is left of the whole.
    patience = ["--timeout", "0"] if marker == "long" else []
    command = [sys.executable, "-m", "pytest", "-q", "-m", marker, *patience, *paths]
    return Step(name, what, command, again=("--last-failed", "--last-failed-no-failures", "none"))


def _chaos_without_kills() -> list[str]:
    return ["tests/chaos", "--ignore", "tests/chaos/test_kill_one_broker.py"]


def run_all(chosen: Sequence[Step], deadline: float) -> list[Result]:
    """In the order of `chosen`, whichever ended first."""
    with ThreadPoolExecutor(1) as lane:
        beside = {step.name: lane.submit(run, step, deadline) for step in chosen if step.is_beside}
        done = {step.name: run(step, deadline) for step in chosen if not step.is_beside}
        done |= {name: storms.result() for name, storms in beside.items()}
    return [done[step.name] for step in chosen]


def run(step: Step, deadline: float) -> Result:
    started = time.monotonic()
    end = min(deadline, started + step.limit_s)
    show = _show_when_done if step.is_beside else _show_as_it_comes
    code, last_line = show(step.command, end)
    outcome = PASSED
    if code and step.again:
        code, last_line = show([*step.command, *step.again], end)
        outcome = FLAKY
    if code != 0:
        outcome = FAILED
        last_line = "out of time" if code is None else last_line
    return Result(step, outcome, last_line, time.monotonic() - started)


def _show_as_it_comes(command: list[str], deadline: float) -> Ran:
    print(f"\n== {' '.join(command)}", flush=True)
    return _run(command, deadline, sys.stdout.buffer)


def _show_when_done(command: list[str], deadline: float) -> Ran:
    said = BytesIO()
    ran = _run(command, deadline, said, stderr=subprocess.DEVNULL)
    print(f"\n== beside: {' '.join(command)}\n{said.getvalue().decode(errors='replace')}", flush=True)
    return ran


def _run(command: list[str], deadline: float, to: BinaryIO, stderr: int | None = None) -> Ran:
    """Copies what it prints, and keeps the last line of it."""
    end = b""
    with subprocess.Popen(
        command, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=stderr, start_new_session=True
    ) as process:
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        while (chunk := process.stdout.read()) != b"" or process.poll() is None:
            if chunk:
                to.write(chunk)
                to.flush()
                end = (end + chunk)[-END_BYTES:]
            elif time.monotonic() > deadline:
                os.killpg(process.pid, 15)
                process.wait(60)
                return Ran(None, "")
            else:
                time.sleep(0.1)
    lines = [line.strip(" =") for line in end.decode(errors="replace").splitlines() if line.strip(" =")]
    return Ran(process.returncode, lines[-1] if lines else "")


def commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = " with uncommitted changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{git('rev-parse', 'HEAD') or 'no commit'}{changed}"


def summary(results: Sequence[Result], seconds: float) -> str:
    lines = [
        f"Verified commit {commit()}",
        "",
        "| step | what | result | detail | minutes |",
        "|---|---|---|---|---|",
        *(
            f"| {each.step.name} | {each.step.what} | {each.outcome} | {each.detail} | {each.seconds / 60:.1f} |"
            for each in results
        ),
        f"| total | at most {LIMIT_S // 60} minutes | {_verdict(results, seconds)} | | {seconds / 60:.1f} |",
    ]
    return "\n".join(lines)


def _verdict(results: Sequence[Result], seconds: float) -> str:
    if any(each.outcome == FAILED for each in results):
        return FAILED
    return PASSED if seconds <= LIMIT_S else "FAILED (too slow)"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [step.name for step in steps()]
    parser.add_argument("only", nargs="*", metavar="STEP", help=f"one of {', '.join(names)}")
    only = parser.parse_args().only
    if unknown := set(only) - set(names):
        parser.error(f"no step {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    os.environ["CI"] = "true"
    started = time.monotonic()
    chosen = [step for step in steps() if not only or step.name in only]
    results = run_all(chosen, started + LIMIT_S)
    seconds = time.monotonic() - started
    print(f"\n{summary(results, seconds)}")
    return 0 if _verdict(results, seconds) == PASSED else 1


if __name__ == "__main__":
    sys.exit(main())
