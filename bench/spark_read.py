"""`python -m bench.spark_read`: Spark reading topics, ours from Headrace beside Spark's own connector from Apache Kafka.

Both brokers run, both topics hold the same records, one session has both formats; rounds alternate who goes first and the
medians are compared. A row is read to the end of Spark's engine and thrown away there (`noop`). Writes a table, JSON and
a picture to bench/out.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from bench import native, spark_connector
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
    spark = _session(asked.master)
    rows: list[Row] = []
    with (
        running(Headrace(), asked.data / "headrace", port=asked.port) as ours,
        running(Kafka(), asked.data / "kafka", port=asked.port + 50) as theirs,
    ):
        for load, records in ((BULK_1K, asked.rows), (BULK_100, 4 * asked.rows)):
            with (
                topic(ours, load.partitions, fsync=False) as mine,
                topic(theirs, load.partitions, fsync=False) as other,
            ):
                sides = [Side("headrace", ours, mine), Side("kafka", theirs, other)]
                stored = [_fill(clients, side, load, records) for side in sides]
                assert stored[0] == stored[1], f"the topics differ: {stored} records"
                rows += _rates(spark, sides, load, stored[0], asked.rounds)
        with topic(ours, 4, fsync=False) as mine, topic(theirs, 4, fsync=False) as other:
            sides = [Side("headrace", ours, mine), Side("kafka", theirs, other)]
            floors = [_floor(spark, clients, side) for side in sides]
            rows.append(Row("micro-batch, 100 records/s", *floors, "ms", is_less_better=True))
    spark.stop()
    _save(rows, asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_read", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows of 1 KB; four times as many of 100 B")
    parser.add_argument("--rounds", type=int, default=3)
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
    kinds: dict[str, Callable[[Any, Side, int], float]] = {"batch": _batch, "stream": _stream}
    seconds: dict[tuple[str, str], list[float]] = {}
    for number in range(rounds + 1):
        for kind, run in kinds.items():
            for side in sides if number % 2 else sides[::-1]:
                taken = run(spark, side, records)
                _say(f"{kind} {load.size} B {side.format}: {records / taken:,.0f} rows/s")
                if number:  # the first round is for the just-in-time compilers
                    seconds.setdefault((kind, side.format), []).append(taken)
    size = "1 KB" if load.size == 1000 else f"{load.size} B"
    return [
        Row(f"{kind}, {size}", *(records / statistics.median(seconds[kind, side.format]) for side in sides), "rows/s")
        for kind in kinds
    ]


def _options(side: Side) -> dict[str, str]:
    return {"kafka.bootstrap.servers": side.broker.bootstrap, "subscribe": side.topic, "startingOffsets": "earliest"}


def _batch(spark: Any, side: Side, records: int) -> float:
    began = time.monotonic()
    frame = spark.read.format(side.format).options(**_options(side)).load()
    frame.write.format("noop").mode("overwrite").save()
    return time.monotonic() - began


def _stream(spark: Any, side: Side, records: int) -> float:
    options = {**_options(side), "maxOffsetsPerTrigger": str(records // BATCHES + 4)}
    with tempfile.TemporaryDirectory() as checkpoint:
        began = time.monotonic()
        frame = spark.readStream.format(side.format).options(**options).load()
        writer = frame.writeStream.format("noop").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start()
        assert query.awaitTermination(DEADLINE_SECONDS)
        taken = time.monotonic() - began
        read = sum(progress["numInputRows"] for progress in query.recentProgress)
    assert read == records, f"{side.format}: {read} of {records} rows were read"
    return taken


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


def _save(rows: list[Row], asked: argparse.Namespace) -> None:
    OUT.mkdir(exist_ok=True)
    head = f"Spark on {asked.master}, {asked.rows:,} rows of 1 KB, 4 partitions, median of {asked.rounds}"
    lines = [head, "", "| row | Headrace | Spark's connector on Kafka | ratio |", "|---|--:|--:|--:|"]
    lines += [
        f"| {row.name} | {row.ours:,.0f} {row.unit} | {row.theirs:,.0f} {row.unit} | {row.ratio:.2f}× |" for row in rows
    ]
    print("\n".join(lines))
    (OUT / "spark_read.md").write_text("\n".join(lines) + "\n")
    figures = [{**row._asdict(), "ratio": row.ratio} for row in rows]
    (OUT / "spark_read.json").write_text(json.dumps({"head": head, "rows": figures}, indent=1))
    _draw(rows, OUT / "spark_read.png")


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
