"""Storms from the command line: one seed with its whole story, or many in parallel with a line of progress.

make sim SEED=123 SCENARIO=mixed BROKERS=3      one, with every line of what happened
make sim SEEDS=1000                             many; scenarios and cluster sizes take turns
make sim SEEDS=1000 SCENARIO=etcd               over an adapter of the metadata store alone: etcd, sqlite
"""

import argparse
import multiprocessing
import sys
import time
import traceback
from collections.abc import Iterator

from sim.checks import Breach
from sim.scenarios import SCENARIOS
from sim.store_runner import STORE_STORMS, play_store_storms
from sim.storm import Outcome, Plan, plan_for, run_storm

PROCESSES = 2


def main() -> int:
    options = _parser().parse_args()
    if options.scenario in STORE_STORMS:
        first, count = (options.first, options.seeds) if options.seed is None else (options.seed, 1)
        return play_store_storms(options.scenario, range(first, first + count), options.processes)
    if options.seed is not None:
        return _play(plan_for(options.seed, options.scenario or "mixed", options.brokers or 3))
    return _play_many(list(plans(options.first, options.seeds, options.scenario, options.brokers)), options.processes)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="sim", description="Storms over the real broker code, on virtual time.")
    parser.add_argument("--seed", type=int, help="play this one, and tell everything")
    parser.add_argument("--seeds", type=int, default=100, help="play so many")
    parser.add_argument("--first", type=int, default=1, help="the first of them")
    parser.add_argument("--scenario", choices=[*SCENARIOS, *STORE_STORMS], help="this one only")
    parser.add_argument("--brokers", type=int, choices=(1, 3, 5), help="always so many")
    parser.add_argument("--processes", type=int, default=PROCESSES)
    return parser


def plans(first: int, count: int, scenario: str | None, brokers: int | None) -> Iterator[Plan]:
    """Three brokers mostly, sometimes one or five; each scenario in its turn."""
    names = [scenario] if scenario else list(SCENARIOS)
    for seed in range(first, first + count):
        size = brokers or (3, 3, 3, 5, 3, 3, 1)[seed % 7]
        yield plan_for(seed, names[seed % len(names)], size)


def _play(plan: Plan) -> int:
    outcome = run_storm(plan, verbose=True)
    print(outcome)
    return 0 if outcome.breach is None else 1


def _play_many(todo: list[Plan], processes: int) -> int:
    started = time.monotonic()
    broken: list[Outcome] = []
    acks = 0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for done, outcome in enumerate(pool.imap_unordered(_play_quietly, todo), 1):
            acks += outcome.acks
            if outcome.breach is not None:
                broken.append(outcome)
                print(f"\r{outcome}\n", flush=True)
            elapsed = time.monotonic() - started
            line = f"{done}/{len(todo)} storms, {acks} acks, {len(broken)} broken, {elapsed:.0f} s"
            print(f"\r{line}", end="", file=sys.stderr, flush=True)
    print(f"\n{len(todo)} storms, {acks} acks checked, {len(broken)} broken, {time.monotonic() - started:.0f} s")
    for outcome in broken:
        print(f"  {outcome.breach.invariant if outcome.breach else ''}: {outcome.plan.command}")
    return 1 if broken else 0


def _play_quietly(plan: Plan) -> Outcome:
    try:
        return run_storm(plan)._replace(lines=[])
    except Exception:
        # As text: not every exception survives the way between processes.
        return Outcome(plan, Breach("no-bug", traceback.format_exc()), 0, 0, 0, 0, 0.0, [])
