"""Takes each rule away in its turn and plays storms until one notices: `make mutants`.

    make mutants                                  all of them, two at a time, at most 300 storms each
    make mutants ARGS="NAME … --storms 50"        these only
    make mutants ARGS="--part 1/4 --resume FILE"  a quarter; what FILE knows of this commit is not played again
    make mutants ARGS="NAME --seed 7"             one storm, with its whole story

Every mutant has a process of its own, forked, so that no patch outlives it. The storm that catches it is played once more
on the whole code, where it must end well: else it says nothing about the rule, and something else is wrong. The exit code
is 0 if every mutant was caught, by an invariant that may catch it.
"""

import argparse
import json
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from pytest import MonkeyPatch

from sim.mutant import STORMS_MAX, Mutant, Stale
from sim.mutants.catalog import MUTANTS
from sim.mutants.report import Result, markdown, summary, text_table, write_into
from sim.mutants.revision import commit

PROCESSES = 2


def main() -> int:
    options = _parser().parse_args()
    try:
        chosen = choose(options.names, options.part)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    if options.list:
        for mutant in chosen:
            print(f"{mutant.name}: {mutant.rule}")
        return 0
    if options.seed is not None:
        return _tell(chosen[0], options.seed)
    known = _known(options.resume)
    todo = [mutant for mutant in chosen if mutant.name not in known]
    results = dict(known)
    started = time.monotonic()
    for result in _play_all(todo, options.storms, options.processes):
        results[result.name] = result
        _remember(options.resume, result)
    played = [results[mutant.name] for mutant in chosen]
    _report(played, options, time.monotonic() - started)
    return 0 if all(result.is_caught for result in played) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mutants", description="Brokers with a rule taken away: storms must notice.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="these mutants only; see --list")
    parser.add_argument("--storms", type=int, default=STORMS_MAX, help="so many at most for each")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="the I-th of N parts")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument(
        "--resume", type=Path, metavar="FILE", help="a line for each result; those of this commit count"
    )
    parser.add_argument("--seed", type=int, help="play the storm of this number of one mutant, and tell everything")
    parser.add_argument("--list", action="store_true", help="names and rules, without playing")
    parser.add_argument("--json", action="store_true", help="results for programs, on stdout")
    parser.add_argument(
        "--markdown",
        nargs="?",
        const="-",
        metavar="FILE",
        help="the table for the documents, on stdout or in its place in FILE",
    )
    return parser


def choose(names: Sequence[str], part: str) -> list[Mutant]:
    unknown = [name for name in names if name not in {mutant.name for mutant in MUTANTS}]
    if unknown:
        raise ValueError(f"no mutant is called {', '.join(unknown)}; --list names them all")
    number, _, count = part.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise ValueError(f"--part is I/N, such as 1/4, not {part!r}")
    chosen = [mutant for mutant in MUTANTS if not names or mutant.name in names]
    return chosen[int(number) - 1 :: int(count)]


def _tell(mutant: Mutant, seed: int) -> int:
    with MonkeyPatch.context() as patch:
        mutant.take_away(patch)
        outcome = mutant.play(mutant.storm(seed), True)
    print(outcome.breach or "nothing noticed")
    return 0 if outcome.breach is not None else 1


# -- results that are there already ------------------------------------------------------------------------------------


def _known(path: Path | None) -> dict[str, Result]:
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    here = commit()
    return {row["name"]: Result.of(row) for row in rows if row.pop("commit") == here}


def _remember(path: Path | None, result: Result) -> None:
    if path is not None:
        with path.open("a") as file:
            file.write(json.dumps({"commit": commit(), **result._asdict()}) + "\n")


def _report(results: list[Result], options: argparse.Namespace, seconds: float) -> None:
    if options.json:
        print(json.dumps({"commit": commit(), "mutants": [result._asdict() for result in results]}, indent=1))
        return
    if options.markdown == "-":
        print(markdown(MUTANTS, results))
    else:
        print(text_table(results))
    if options.markdown not in (None, "-"):
        write_into(Path(options.markdown), MUTANTS, results)
    print(f"\n{summary(results, seconds)}")


# -- playing -----------------------------------------------------------------------------------------------------------


def _play_all(mutants: Sequence[Mutant], storms_max: int, processes: int) -> Iterator[Result]:
    context = multiprocessing.get_context("fork")
    waiting, running = list(mutants), dict[Any, tuple[Mutant, Any]]()
    progress = Progress(len(mutants))
    while waiting or running:
        while waiting and len(running) < processes:
            mutant = waiting.pop(0)
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_play, args=(mutant, storms_max, theirs))
            process.start()
            theirs.close()
            running[ours] = mutant, process
        for pipe in wait(list(running)):
            mutant, process = running[pipe]
            try:
                news = pipe.recv()  # type: ignore[union-attr]
            except EOFError:
                news = Result(mutant.name, "error", detail="its process died")
            if isinstance(news, Result):
                del running[pipe]
                process.join()
                progress.on_result(news)
                yield news
            else:
                progress.on_storm(mutant.name, news)
    progress.end()


def _play(mutant: Mutant, storms_max: int, pipe: Connection) -> None:
    try:
        pipe.send(play(mutant, storms_max, pipe))
    except Stale as stale:
        pipe.send(Result(mutant.name, "stale", detail=str(stale)))
    except Exception:
        pipe.send(Result(mutant.name, "error", detail=traceback.format_exc()))


def play(mutant: Mutant, storms_max: int, pipe: Connection | None = None) -> Result:
    started = time.monotonic()
    with MonkeyPatch.context() as patch:
        mutant.take_away(patch)
        result = _play_broken(mutant, min(storms_max, mutant.storms_max), pipe)
    if result.is_caught:
        result = _play_whole(mutant, result)
    return result._replace(seconds=time.monotonic() - started)


def _play_broken(mutant: Mutant, storms_max: int, pipe: Connection | None) -> Result:
    for number in range(1, storms_max + 1):
        if pipe is not None:
            pipe.send(number)
        plan = mutant.storm(number)
        breach = mutant.play(plan, False).breach
        if breach is not None:
            mutant.check(breach)
            return Result(mutant.name, "caught", breach.invariant, plan.scenario, number, detail=breach.detail)
    return Result(mutant.name, "survived", storms=storms_max)


def _play_whole(mutant: Mutant, caught: Result) -> Result:
    """Strikes a storm that the whole code does not get through either."""
    breach = mutant.play(mutant.storm(caught.storms), False).breach
    if breach is None:
        return caught
    detail = f"{caught.scenario} {caught.storms} ends so on the whole code too: {breach.invariant}: {breach.detail}"
    return Result(mutant.name, "struck", storms=caught.storms, detail=detail)


class Progress:
    """One line on stderr that says how far it is."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._storms = 0
        self._failed: list[str] = []
        self._now: dict[str, int] = {}
        self._started = time.monotonic()
        self._width = 0

    def on_storm(self, name: str, number: int) -> None:
        self._storms += 1
        self._now[name] = number
        self._show()

    def on_result(self, result: Result) -> None:
        self._done += 1
        self._now.pop(result.name, None)
        if not result.is_caught:
            self._failed.append(result.name)
            self._say(f"{result.name}: {result.outcome} after {result.storms} storms {result.detail}\n")
        self._show()

    def _show(self) -> None:
        filled = 20 * self._done // max(1, self._total)
        playing = ", ".join(f"{name} {number}" for name, number in self._now.items())
        self._say(
            f"[{'#' * filled}{'.' * (20 - filled)}] {self._done}/{self._total} mutants, {len(self._failed)} not caught, "
            f"{self._storms} storms, {time.monotonic() - self._started:.0f} s: {playing}"
        )

    def _say(self, text: str) -> None:
        print(f"\r{text.ljust(self._width)}", end="", file=sys.stderr, flush=True)
        self._width = 0 if text.endswith("\n") else len(text)

    def end(self) -> None:
        print(file=sys.stderr, flush=True)
