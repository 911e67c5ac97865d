"""`python -m bench`: measures, prints the table, saves JSON, Markdown and a picture under bench/out."""

import argparse
import signal
import sys
import time
from pathlib import Path

from bench import headrace, kafka, machine, native, picture, report
from bench.broker import Peer
from bench.failover import FAILOVER
from bench.groups import GROUP_SCENARIOS
from bench.headrace import Headrace
from bench.kafka import Kafka
from bench.rounds import Bench
from bench.rows import OURS, ROWS, THEIRS, Row, outcomes
from bench.scenarios import SCENARIOS, Scenario
from bench.transactions import TRANSACTION_SCENARIOS

AFTER_EVERYTHING = ("process.after_rss_mb", "process.peak_rss_mb", "cluster-3.after_rss_mb")
ALL_SCENARIOS = [*SCENARIOS, FAILOVER, *GROUP_SCENARIOS, *TRANSACTION_SCENARIOS]
OUT = Path(__file__).parent / "out"


def main() -> int:
    asked = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` stops the brokers
    began = time.monotonic()
    rows = _chosen_rows(asked.only)
    bench = Bench(
        peers=_peers(asked),
        clients=native.built(OUT / "native"),
        scenarios=_needed(rows),
        sizes=_sizes(rows),
        rounds=1 if asked.quick else asked.rounds,
        scale=0.3 if asked.quick else 1.0,
        data=asked.data.resolve(),
        port=asked.port,
        say=lambda line: print(line, file=sys.stderr, flush=True),
    )
    measured, failures = bench.run()
    names = {side: f"{peer.name} {peer.version()}" for side, peer in bench.peers.items()}
    found = report.Report(
        outcomes(rows, measured), names, machine.described(asked.data), measured, failures, bench.rounds, bench.scale,
        time.monotonic() - began,
    )  # fmt: skip
    print(found.markdown())
    for path in (*found.save(OUT), picture.draw(found, OUT)):
        print(f"saved {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}", file=sys.stderr)
    return 1 if failures else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round with a third of the load (about 5 minutes)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds to take the median of (3)")
    parser.add_argument("--only", action="append", metavar="ROW", help="a row, or the start of row names; repeatable")
    sides = parser.add_mutually_exclusive_group()
    sides.add_argument("--ours-only", action="store_true", help="Headrace alone")
    sides.add_argument("--peer-only", action="store_true", help="Kafka alone")
    sides.add_argument("--rehearse", action="store_true", help="Kafka against itself: the ratios show the noise")
    parser.add_argument("--data", type=Path, default=OUT / "data", help="where brokers keep data: a real disk")
    parser.add_argument("--port", type=int, default=19092, help="first port to use on loopback (19092)")
    return parser.parse_args()


def _peers(asked: argparse.Namespace) -> dict[str, Peer]:
    peers: dict[str, Peer] = {}
    if asked.rehearse:
        peers[OURS] = Kafka(name="Apache Kafka again")
    elif not asked.peer_only:
        if why := headrace.missing():
            raise SystemExit(why)
        peers[OURS] = Headrace()
    if not asked.ours_only:
        if why := kafka.missing():
            print(f"without Kafka, so without ratios: {why}", file=sys.stderr)
        else:
            peers[THEIRS] = Kafka()
    return peers


def _chosen_rows(only: list[str] | None) -> list[Row]:
    chosen = [row for row in ROWS if not only or any(row.name.startswith(start) for start in only)]
    if not chosen:
        raise SystemExit("no such row; there are: " + " ".join(row.name for row in ROWS))
    return chosen


def _needed(rows: list[Row]) -> list[Scenario]:
    if any(row.ours in AFTER_EVERYTHING for row in rows):
        return ALL_SCENARIOS
    wanted = set[str]().union(*(row.scenarios() for row in rows))
    return [scenario for scenario in ALL_SCENARIOS if scenario.name in wanted]


def _sizes(rows: list[Row]) -> list[int]:
    """How many brokers there are at a time: some rows are about the brokers alone, without any scenario."""
    alone = {"process": 1, "cluster-3": 3}
    sizes = {scenario.brokers for scenario in _needed(rows) if not scenario.fresh_runs}
    return sorted(sizes | {alone[name] for row in rows for name in row.scenarios() & alone.keys()})


if __name__ == "__main__":
    sys.exit(main())
