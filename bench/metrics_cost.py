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
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from bench import native, proc
from bench.broker import Running, running
from bench.pairs import METRICS_PORT_SHIFT, Compared, Served, bulk, compare, single
from bench.scenarios import Stage

OUT = Path(__file__).parent / "out"
TARGET = 0.03
SCRAPE_SECONDS = 5.0
MOVED = re.compile(r"^headrace_(?:topic_(?:records|bytes)_\S+|requests_total\S+|request_seconds_count\S+) (?!0$)", re.M)

COUNTED = Served("with metrics", ("headrace.cli", "serve"))
UNCOUNTED = Served("without", ("bench.uncounted",))
SIDES = ("with", "without")


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
        sizes = (options.pairs, options.turns, options.gigabytes)
        result = {"bulk": compare(bulk, *stages, *sizes), "single": compare(single, *stages, *sizes)}
        assert MOVED.search(page(counted)), "the broker with metrics counted nothing"
        moved = MOVED.search(page(bare))
        assert moved is None, f"the broker without metrics still counts: {moved and moved[0]}"
        share = others.share()
    show(result, share)


def show(result: dict[str, Compared], others_cpu_share: float) -> None:
    stored = {name: row._asdict() for name, row in result.items()}
    (OUT / "metrics_cost.json").write_text(json.dumps({**stored, "others_cpu_share": others_cpu_share}, indent=1))
    print(result["bulk"].line("bulk", "CPU s a GB in and out", SIDES))
    print(result["single"].line("single", "CPU µs a request", SIDES))
    reached = result["bulk"].cost < TARGET
    print(f"target: below {TARGET:.0%} of CPU a GB: {'reached' if reached else 'not reached'}")
    print(f"other processes took {others_cpu_share:.0%} of the CPU")


if __name__ == "__main__":
    main()
