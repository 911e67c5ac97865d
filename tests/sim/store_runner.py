"""Storms over the adapters of the metadata store, from the command line: `--scenario etcd`, `sqlite`, `sqlite-leases`."""

import multiprocessing
from collections.abc import Callable
from typing import Final

from sim.etcd_storms import StoreOutcome, run_etcd_storm
from sim.sqlite_lease_storms import run_sqlite_lease_storm
from sim.sqlite_storms import run_sqlite_storm

STORE_STORMS: Final[dict[str, Callable[[int], StoreOutcome]]] = {
    "etcd": run_etcd_storm,
    "sqlite": run_sqlite_storm,
    "sqlite-leases": run_sqlite_lease_storm,
}


def play_store_storms(scenario: str, seeds: range, processes: int) -> int:
    broken = acks = 0
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for outcome in pool.imap_unordered(STORE_STORMS[scenario], seeds):
            acks += outcome.acks
            if outcome.breach is not None:
                broken += 1
                print(f"{outcome}\n  python -m tests.sim --scenario {scenario} --seed {outcome.seed}", flush=True)
    print(f"{len(seeds)} storms, {acks} commits and leases checked, {broken} broken")
    return 1 if broken else 0
