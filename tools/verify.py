"""`make verify`: all that is called done, in parts of at most an hour, and at the end one table to quote.

    python tools/verify.py                 the whole, up to three hours: all parts but those that run by name only
    python tools/verify.py chaos           this part only; `sim` stands for sim-1, sim-2, …
    python tools/verify.py --table         runs nothing: the table of the parts that ran on this commit so far

The simulator needs processors but no clock, so its parts run at low priority beside the tests of real processes, which
mostly wait: 10,000 seeds are 70 minutes of one processor, 2,000 of transactions 25, the stores 10, the mutants 20, two hours
of one in all. Of the tests those run by name only that are long and not about the core. A part that fails does not stop the
others, and nothing is run a second time: a test that fails now and then is a bug. Each part ends with a line that names its
outcome and the commit, and is remembered by commit in build/verify, so that parts that ran alone add up to one table. The
exit code is 0 only if all that was asked for passed, in time.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple

CHECKOUT = Path(__file__).resolve().parent.parent
REMEMBERED = CHECKOUT / "build" / "verify"
LIMIT_S = 180 * 60
PART_LIMIT_S = 60 * 60
STOP_S = 60
END_BYTES = 4096
SIM_PARTS, SIM_SEEDS = 10, 1000
MUTANT_PARTS = 4
STORE_SEEDS = 2000
MAKE = ["make", "--no-print-directory"]
# `nice` counts within a session only where Linux groups processes by sessions (autogroup); so the group is told too.
AT_LOW_PRIORITY = [
    "sh",
    "-c",
    '{ echo 15 > /proc/self/autogroup; } 2>/dev/null; exec nice -n 15 "$@"',
    "at-low-priority",
]
STORM = "tests/chaos/test_everything.py"
KILLS = "tests/chaos/test_kill_one_broker.py"
UPGRADE = "tests/chaos/test_upgrade.py"
PASSED, FAILED, NOT_RUN = "passed", "FAILED", "not run"


class Step(NamedTuple):
    name: str
    what: str
    command: list[str]
    is_beside: bool = False
    """At low priority beside the others, and shown when it is done."""
    is_apart: bool = False
    """By its name only: with it the whole would take longer than it may."""


class Ran(NamedTuple):
    code: int | None
    """None: out of time."""
    last_line: str


class Result(NamedTuple):
    name: str
    what: str
    outcome: str
    detail: str = ""
    seconds: float = 0.0

    def line(self, commit: str) -> str:
        return f"verify {self.name} on {commit}: {self.outcome} in {self.seconds / 60:.1f} minutes: {self.detail}"

    def row(self) -> str:
        return f"| {self.name} | {self.what} | {self.outcome} | {self.detail} | {self.seconds / 60:.1f} |"


def steps() -> list[Step]:
    return [
        Step("check", "lint, format, types, layers", [*MAKE, "check"]),
        Step("tests", "all of make test, 1,000 simulated crashes of the log among it", [*MAKE, "test", "ARGS=-q"]),
        *_simulator(),
        *_mutants(),
        _storms("transactions", "2,000 seeds of storms over transactions", 1, 2000, "SCENARIO=transactions"),
        *_stores(),
        _tests("kills", "one broker, kill -9 under load, 50 times", "long", KILLS),
        _tests(
            "faults",
            "each fault of processes, disks, links and etcd, again and again, and behind TLS and rules",
            "long",
            *_single_faults(),
        ),
        _tests("chaos", "20 minutes of all faults beside every kind of client", "long", STORM),
        _tests("upgrade", "one by one from the last release and back again, under load", "long", UPGRADE),
        _tests("clients", "the longer tests of client libraries", "long", "tests/integration"),
        _tests("installed", "each extra alone, and the image's steps", "long", "tests/installed", "tests/deploy"),
        _tests("gateway", "storms over webhooks, keys, pages and the API", "long", "tests/gateway", "tests/browser"),
        *_apart(),
    ]


def _apart() -> Iterator[Step]:
    for step in (
        _tests("scale", "10,000 partitions at RF 3, 100,000 at RF 1", "long", "tests/scale"),
        _tests("ecosystem", "nine projects of Kafka's ecosystem while a broker dies", "long", "tests/ecosystem"),
        _tests("spark", "kills of queries, clusters, Spark Connect, the official connector", "long", "tests/spark"),
    ):
        yield step._replace(is_apart=True)


def _simulator() -> Iterator[Step]:
    for part in range(1, SIM_PARTS + 1):
        first = (part - 1) * SIM_SEEDS + 1
        what = f"storms over all scenarios, seeds {first} to {first + SIM_SEEDS - 1}"
        yield _storms(f"sim-{part}", what, first, SIM_SEEDS)


def _mutants() -> Iterator[Step]:
    for part in range(1, MUTANT_PARTS + 1):
        command = [*AT_LOW_PRIORITY, *MAKE, "mutants", f"ARGS=--processes 1 --part {part}/{MUTANT_PARTS}"]
        yield Step(f"mutants-{part}", "each rule taken away must be missed by storms", command, is_beside=True)


def _stores() -> Iterator[Step]:
    for store in ("sqlite", "sqlite-leases", "etcd"):
        what = f"{STORE_SEEDS} seeds of storms over the {store} adapter alone"
        yield _storms(f"stores-{store}", what, 1, STORE_SEEDS, f"SCENARIO={store}")


def _storms(name: str, what: str, first: int, seeds: int, *arguments: str) -> Step:
    seeded = [f"SEEDS={seeds}", f"ARGS=--first {first}", *arguments]
    return Step(name, what, [*AT_LOW_PRIORITY, *MAKE, "sim", *seeded], is_beside=True)


def _tests(name: str, what: str, marker: str, *paths: str) -> Step:
    # Timeout 0: a long test has no time limit of its own, only what is left of its part.
    patience = ["--timeout", "0"] if marker == "long" else []
    return Step(name, what, [sys.executable, "-m", "pytest", "-q", "-m", marker, *patience, *paths])


def _single_faults() -> list[str]:
    apart = (KILLS, STORM, UPGRADE)
    return ["tests/chaos", *(word for path in apart for word in ("--ignore", path))]


def run_all(chosen: Sequence[Step], deadline: float) -> list[Result]:
    """In the order of `chosen`, whichever ended first."""
    with ThreadPoolExecutor(1) as lane:
        beside = {step.name: lane.submit(run, step, deadline) for step in chosen if step.is_beside}
        done = {step.name: run(step, deadline) for step in chosen if not step.is_beside}
        done |= {name: storms.result() for name, storms in beside.items()}
    return [done[step.name] for step in chosen]


def run(step: Step, deadline: float) -> Result:
    before = commit()
    started = time.monotonic()
    show = _show_when_done if step.is_beside else _show_as_it_comes
    code, last_line = show(step.command, min(deadline, started + PART_LIMIT_S))
    result = Result(
        step.name,
        step.what,
        PASSED if code == 0 else FAILED,
        "out of time" if code is None else last_line,
        time.monotonic() - started,
    )
    remember(result, before)
    print(f"\n{result.line(before)}", flush=True)
    return result


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
                _end(process)
                return Ran(None, "")
            else:
                time.sleep(0.1)
    lines = [line.strip(" =") for line in end.decode(errors="replace").splitlines() if line.strip(" =")]
    return Ran(process.returncode, lines[-1] if lines else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    """The part and all that it started; one that does not listen is killed."""
    os.killpg(process.pid, 15)
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()


# -- what ran on this commit ------------------------------------------------------------------------------------------


def commit() -> str:
    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", *arguments], cwd=CHECKOUT, capture_output=True, text=True, check=False
        ).stdout.strip()

    changed = " with uncommitted changes" if git("status", "--porcelain", "--untracked-files=no") else ""
    return f"{git('rev-parse', 'HEAD') or 'no commit'}{changed}"


def remember(result: Result, commit: str) -> None:
    REMEMBERED.mkdir(parents=True, exist_ok=True)
    with _memory(commit).open("a") as file:
        file.write(json.dumps(result._asdict()) + "\n")


def recall(commit: str) -> dict[str, Result]:
    """The latest result of each part."""
    try:
        lines = _memory(commit).read_text().splitlines()
    except FileNotFoundError:
        return {}
    return {result.name: result for result in (Result(**json.loads(line)) for line in lines)}


def _memory(commit: str) -> Path:
    return REMEMBERED / f"{commit.replace(' ', '-')}.jsonl"


def table(commit: str) -> str:
    known = recall(commit)
    results = [known.get(step.name, Result(step.name, step.what, NOT_RUN)) for step in steps()]
    outcomes = {known[step.name].outcome if step.name in known else NOT_RUN for step in steps() if _counts(step, known)}
    verdict = FAILED if FAILED in outcomes else "not complete" if NOT_RUN in outcomes else PASSED
    head = [f"Verified commit {commit}", "", "| part | what | result | detail | minutes |", "|---|---|---|---|---|"]
    minutes = sum(each.seconds for each in results) / 60
    return "\n".join([*head, *(each.row() for each in results), f"| all | | {verdict} | | {minutes:.1f} |"])


def _counts(step: Step, known: Container[str]) -> bool:
    """Whether the verdict is about this part too: one that runs by name only counts when it ran."""
    return not step.is_apart or step.name in known


# -- the command line --------------------------------------------------------------------------------------------------


def choose(asked: Sequence[str]) -> list[Step]:
    """The whole without a name; a name before a hyphen stands for all its pieces."""
    if not asked:
        return [step for step in steps() if not step.is_apart]
    return [step for step in steps() if {step.name, step.name.partition("-")[0]} & set(asked)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [step.name for step in steps()]
    parser.add_argument("only", nargs="*", metavar="PART", help=f"one of {', '.join(names)}; or sim")
    parser.add_argument("--table", action="store_true", help="run nothing, show what ran on this commit")
    options = parser.parse_args()
    for name in options.only:
        if not choose([name]):
            parser.error(f"no part {name}; there are {', '.join(names)}")
    if options.table:
        print(table(commit()))
        return 0
    os.environ["CI"] = "true"
    started = time.monotonic()
    results = run_all(choose(options.only), started + LIMIT_S)
    print(f"\n{table(commit())}")
    in_time = time.monotonic() - started <= LIMIT_S
    return 0 if in_time and all(each.outcome == PASSED for each in results) else 1


if __name__ == "__main__":
    sys.exit(main())
