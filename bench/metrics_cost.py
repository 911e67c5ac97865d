"""What metrics cost a broker: CPU seconds for each GB in and out, beside the same broker without them.

    python -m bench.metrics_cost [--pairs 7] [--gigabytes 1.5]

Two brokers run side by side: one as it is, its /metrics scraped every five seconds, and one whose counters were cut out of
the code (`bench.uncounted`). The load goes to one, then to the other, in short turns; the figure is the median over pairs of
the ratio of CPU seconds, for bulk (1 KB records written and read, fsync off) and for one record a request.
Prints the figures and writes them to bench/out/metrics_cost.json.
"""

import argparse
import contextlib
import json
import re
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from bench import native, proc
from bench.broker import Running, running
from bench.scenarios import Stage, _consume, _produce
from bench.topics import topic
from bench.workload import BULK_1K, SINGLE

OUT = Path(__file__).parent / "out"
TARGET = 0.03
SCRAPE_SECONDS = 5.0
SINGLE_RECORDS = 20_000
METRICS_PORT_SHIFT = 1000
MOVED = re.compile(r"^headrace_(?:topic_(?:records|bytes)_\S+|requests_total\S+|request_seconds_count\S+) (?!0$)", re.M)


@dataclass
class Served:
    """One broker by itself, counting or not."""

    name: str
    module: str

    def version(self) -> str:
        return self.name

    def prepare(self, data: Path, brokers: int, port: int) -> list[list[str]]:
        places = ["--data", str(data / "data"), "--port", str(port), "--metrics-port", str(port + METRICS_PORT_SHIFT)]
        return [[sys.executable, "-m", self.module, *places]]

    def broker_pids(self, data: Path, launched: list[int]) -> list[int]:
        return launched


COUNTED = Served("with metrics", "headrace.cli.serve")
UNCOUNTED = Served("without", "bench.uncounted")


def bulk(stage: Stage, gigabytes: float) -> float:
    """CPU seconds a GB, in and out together."""
    with topic(stage.broker, BULK_1K.partitions, fsync=False) as name:
        before = proc.running_seconds(stage.broker.pids)
        wanted = _produce(name, BULK_1K, gigabytes * 1e6, 60)
        stored = stage.run("produce", wanted, BULK_1K.producer())["stored"]
        _consume(stage, name, BULK_1K, stored)
        return float((proc.running_seconds(stage.broker.pids) - before) / (stored * BULK_1K.size / 1e9))


def single(stage: Stage, gigabytes: float) -> float:
    """CPU microseconds a request."""
    with topic(stage.broker, SINGLE.partitions, fsync=False) as name:
        before = proc.running_seconds(stage.broker.pids)
        wanted = _produce(name, SINGLE, SINGLE_RECORDS, 60)
        stored = stage.run("produce", wanted, SINGLE.producer())["stored"]
        return float((proc.running_seconds(stage.broker.pids) - before) / stored * 1e6)


def compare(
    play: Callable[[Stage, float], float], counted: Stage, bare: Stage, options: argparse.Namespace
) -> dict[str, Any]:
    """A pair is many short turns of each, so that what else the machine does falls on both alike."""
    pairs = []
    for _ in range(options.pairs):
        spent = [0.0, 0.0]
        for turn in range(options.turns):
            for side in (0, 1) if turn % 2 else (1, 0):
                spent[side] += play((counted, bare)[side], options.gigabytes / options.turns)
        pairs.append((spent[0] / options.turns, spent[1] / options.turns))
        print(f"{play.__name__}: {pairs[-1][0]:.3g} with, {pairs[-1][1]:.3g} without", file=sys.stderr, flush=True)
    ratios = sorted(with_metrics / without for with_metrics, without in pairs)
    return {
        "with": median(pair[0] for pair in pairs),
        "without": median(pair[1] for pair in pairs),
        "cost": median(ratios) - 1,
        "range": [ratios[0] - 1, ratios[-1] - 1],
        "pairs": pairs,
    }


@contextlib.contextmanager
def scraped(broker: Running) -> Iterator[None]:
    done = threading.Event()

    def scrape() -> None:
        while not done.wait(SCRAPE_SECONDS):
            page(broker)

    thread = threading.Thread(target=scrape)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def page(broker: Running) -> str:
    port = int(broker.bootstrap.rpartition(":")[2]) + METRICS_PORT_SHIFT
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--gigabytes", type=float, default=1.5)
    parser.add_argument("--turns", type=int, default=4, help="of each broker in a pair")
    parser.add_argument("--port", type=int, default=19392)
    options = parser.parse_args()
    clients = native.built(OUT / "native")
    others = proc.OtherWork()
    with (
        running(COUNTED, OUT / "data" / "counted", port=options.port) as counted,
        running(UNCOUNTED, OUT / "data" / "uncounted", port=options.port + 10) as bare,
        scraped(counted),
    ):
        stages = Stage(counted, clients, 1.0), Stage(bare, clients, 1.0)
        for stage in stages:
            bulk(stage, 0.3)
        result: dict[str, Any] = {"bulk": compare(bulk, *stages, options), "single": compare(single, *stages, options)}
        assert MOVED.search(page(counted)), "the broker with metrics counted nothing"
        moved = MOVED.search(page(bare))
        assert moved is None, f"the broker without metrics still counts: {moved and moved[0]}"
        result["others_cpu_share"] = others.share()
    show(result)


def show(result: dict[str, Any]) -> None:
    (OUT / "metrics_cost.json").write_text(json.dumps(result, indent=1))
    for name, unit in (("bulk", "CPU s a GB in and out"), ("single", "CPU µs a request")):
        row = result[name]
        low, high = row["range"]
        print(f"{name}: {row['with']:.3g} with, {row['without']:.3g} without ({unit}); ", end="")
        print(f"cost {row['cost']:+.1%} (pairs {low:+.1%} to {high:+.1%})")
    reached = result["bulk"]["cost"] < TARGET
    print(f"target: below {TARGET:.0%} of CPU a GB: {'reached' if reached else 'not reached'}")
    print(f"other processes took {result['others_cpu_share']:.0%} of the CPU")


if __name__ == "__main__":
    main()
