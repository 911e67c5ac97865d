"""`python -m bench.spark_read`: Spark reading topics, ours from Headrace beside Spark's own connector from Apache Kafka.

Both brokers run, both topics hold the same records, one session has both formats; rounds alternate who goes first and the
medians are compared. A row is read to the end of Spark's engine and thrown away there (`noop`). CPU is that of Spark, its
Python workers and the brokers together, and holds on a busy machine too, where rates do not. Writes a table, JSON and a
picture to bench/out.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench import native, proc, spark_connector
from bench.broker import Running, running
from bench.headrace import Headrace
from bench.kafka import Kafka
from bench.topics import topic
from bench.workload import BULK_1K, BULK_100, Workload

OUT = Path(__file__).parent / "out"
BATCHES = 4
FLOOR_SECONDS = 10.0
DEADLINE_SECONDS = 300


class Side(NamedTuple):
    format: str
    broker: Running
    topic: str


class Row(NamedTuple):
    name: str
    ours: float
    theirs: float
    unit: str
    is_less_better: bool = False

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours if self.is_less_better else self.ours / self.theirs


def main() -> None:
    asked = _arguments()
    clients = native.built(OUT / "native")
    others = proc.OtherWork()
    spark = _session(asked.master)
    rows: list[Row] = []
    with (
        running(Headrace(), asked.data / "headrace", port=asked.port) as ours,
        running(Kafka(), asked.data / "kafka", port=asked.port + 50) as theirs,
    ):
        loads = {"1k": (BULK_1K, asked.rows), "100": (BULK_100, 4 * asked.rows)}
        for load, records in (loads[name] for name in loads if name in asked.only):
            with (
                topic(ours, load.partitions, fsync=False) as mine,
                topic(theirs, load.partitions, fsync=False) as other,
            ):
                sides = [Side("headrace", ours, mine), Side("kafka", theirs, other)]
                stored = [_fill(clients, side, load, records) for side in sides]
                assert stored[0] == stored[1], f"the topics differ: {stored} records"
                rows += _rates(spark, sides, load, stored[0], asked.rounds)
        if "floor" in asked.only:
            rows.append(_floors(spark, clients, ours, theirs))
    spark.stop()
    _save(rows, asked, others.share())


def _floors(spark: Any, clients: native.Clients, ours: Running, theirs: Running) -> Row:
    with topic(ours, 4, fsync=False) as mine, topic(theirs, 4, fsync=False) as other:
        sides = [Side("headrace", ours, mine), Side("kafka", theirs, other)]
        ours_ms, theirs_ms = in_turns([partial(_floor, spark, clients, side) for side in sides])
    return Row("micro-batch, 100 records/s", ours_ms, theirs_ms, "ms", is_less_better=True)


def in_turns(measures: list[Callable[[], float]], rounds: int = 3) -> list[float]:
    """The median of each over the rounds, after one that is for the just-in-time compilers."""
    found: list[list[float]] = [[] for _ in measures]
    for number in range(rounds + 1):
        order = range(len(measures)) if number % 2 else reversed(range(len(measures)))
        for place in order:
            figure = measures[place]()
            if number:
                found[place].append(figure)
    return [statistics.median(each) for each in found]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_read", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of 1 KB; four times as many of 100 B")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=["1k", "100", "floor"], default=["1k", "100", "floor"])
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--data", type=Path, default=OUT / "spark-data")
    parser.add_argument("--port", type=int, default=19292)
    return parser.parse_args()


def _session(master: str) -> Any:
    from headrace.spark import session

    return session(master, name="bench", conf={"spark.jars": spark_connector.jars()})


def _fill(clients: native.Clients, side: Side, load: Workload, records: int) -> int:
    """At least so many records: the client sends them in chunks."""
    shape = {"topic": side.topic, "partitions": load.partitions, "size": load.size, "chunk": 256}
    where = {"brokers": side.broker.bootstrap, "records": records, "seconds": native.CLIENT_DEADLINE_S * 0.8}
    return int(clients.run("produce", {**where, **shape}, load.producer())["stored"])


def _rates(spark: Any, sides: list[Side], load: Workload, records: int, rounds: int) -> list[Row]:
    kinds: dict[str, Callable[[Any, Side, int], None]] = {"batch": _batch, "stream": _stream}
    seconds: dict[tuple[str, str], list[float]] = {}
    work: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):
        for kind, run in kinds.items():
            for side in sides if number % 2 else sides[::-1]:
                taken, cpu = _timed(partial(run, spark, side, records))
                _say(
                    f"{kind} {load.size} B {side.format}: {records / taken:,.0f} rows/s, {cpu / records * 1e6:.2f} µs CPU"
                )
                if number:  # the first round is for the just-in-time compilers
                    seconds.setdefault((kind, side.format), []).append(taken)
                    work.setdefault((kind, side.format), []).append(cpu)
    size = "1 KB" if load.size == 1000 else f"{load.size} B"
    rows = []
    for kind in kinds:
        ours, theirs = (records / statistics.median(seconds[kind, side.format]) for side in sides)
        rows.append(Row(f"{kind}, {size}", ours, theirs, "rows/s"))
        ours, theirs = (statistics.median(work[kind, side.format]) / records * 1e6 for side in sides)
        rows.append(Row(f"{kind}, {size}: CPU a row", ours, theirs, "µs", is_less_better=True))
    return rows


def _timed(act: Callable[[], None]) -> tuple[float, float]:
    """Seconds of the clock, and of all processors."""
    own = [os.getpid()]
    cpu, began = proc.cpu_seconds(own), time.monotonic()
    act()
    return time.monotonic() - began, proc.cpu_seconds(own) - cpu


def _options(side: Side) -> dict[str, str]:
    return {"kafka.bootstrap.servers": side.broker.bootstrap, "subscribe": side.topic, "startingOffsets": "earliest"}


def _batch(spark: Any, side: Side, records: int) -> None:
    frame = spark.read.format(side.format).options(**_options(side)).load()
    frame.write.format("noop").mode("overwrite").save()


def _stream(spark: Any, side: Side, records: int) -> None:
    options = {**_options(side), "maxOffsetsPerTrigger": str(records // BATCHES + 4)}
    with tempfile.TemporaryDirectory() as checkpoint:
        frame = spark.readStream.format(side.format).options(**options).load()
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(DEADLINE_SECONDS)
        read = sum(progress["numInputRows"] for progress in query.recentProgress)
    assert read == records, f"{side.format}: {read} of {records} rows were read"


def _floor(spark: Any, clients: native.Clients, side: Side) -> float:
    """The median of what Spark calls triggerExecution, while a few records come."""
    shape = {"topic": side.topic, "partitions": 4, "size": 100, "chunk": 1, "rate": 100}
    where = {"brokers": side.broker.bootstrap, "records": int(1e9), "seconds": FLOOR_SECONDS + 15}
    with tempfile.TemporaryDirectory() as checkpoint:
        frame = spark.readStream.format(side.format).options(**_options(side)).load()
        query = frame.writeStream.format("noop").option("checkpointLocation", checkpoint).start()
        producer = clients.start("produce", {**where, **shape}, {"linger.ms": 0})
        try:
            time.sleep(FLOOR_SECONDS / 2)  # both are under way, and compiled
            seen = query.lastProgress["batchId"] if query.lastProgress else 0
            time.sleep(FLOOR_SECONDS)
            batches = [each for each in query.recentProgress if each["batchId"] > seen and each["numInputRows"]]
        finally:
            query.stop()
            producer.terminate()
            producer.communicate()
    taken = statistics.median(each["durationMs"]["triggerExecution"] for each in batches)
    _say(f"micro-batch {side.format}: {taken:.0f} ms over {len(batches)} batches")
    return float(taken)


def _save(rows: list[Row], asked: argparse.Namespace, others: float) -> None:
    OUT.mkdir(exist_ok=True)
    head = f"Spark on {asked.master}, {asked.rows:,} rows of 1 KB, 4 partitions, median of {asked.rounds}"
    head += f"; other processes took {others:.0%} of the machine"
    lines = [head, "", "| row | Headrace | Spark's connector on Kafka | ratio |", "|---|--:|--:|--:|"]
    lines += [
        f"| {row.name} | {_figure(row.ours)} {row.unit} | {_figure(row.theirs)} {row.unit} | {row.ratio:.2f}× |"
        for row in rows
    ]
    print("\n".join(lines))
    (OUT / "spark_read.md").write_text("\n".join(lines) + "\n")
    figures = [{**row._asdict(), "ratio": row.ratio} for row in rows]
    (OUT / "spark_read.json").write_text(json.dumps({"head": head, "rows": figures}, indent=1))
    _draw(rows, OUT / "spark_read.png")


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value >= 20 else f"{value:.2f}"


def _draw(rows: list[Row], path: Path) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 0.6 * len(rows) + 1))
    axes.barh([row.name for row in rows][::-1], [row.ratio for row in rows][::-1], color="#2a6f97")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("Headrace against Spark's own connector on Apache Kafka (1 = equal, more is better)")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
