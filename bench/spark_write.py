"""`python -m bench.spark_write`: Spark writing topics, ours to Headrace beside Spark's own connector to Apache Kafka.

Both brokers run, one session has both formats, rows are made by the same expression in Spark's engine; rounds alternate who
goes first and the medians are compared. A stream is exactly once by our sink and at least once by theirs, which offers
nothing else; in the last row both are at least once. acks=all on both sides, no compression, fsync off (internal topics have
their own defaults). Writes a table and JSON to bench/out.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bench import spark_connector
from bench.broker import Running, running
from bench.headrace import Headrace
from bench.kafka import Kafka
from bench.spark_read import Row, in_turns
from bench.topics import topic

OUT = Path(__file__).parent / "out"
PARTITIONS = 4
STREAM_BATCHES = 4
DEADLINE_SECONDS = 300.0
NO_OPTIONS: Mapping[str, str] = {}
AT_LEAST_ONCE = {"guarantee": "at-least-once"}

Write = Callable[[Any, str, Running, str, int, int], float]


def main() -> None:
    asked = _arguments()
    spark = _session(asked.master)
    rows = []
    with (
        running(Headrace(), asked.data / "headrace", port=asked.port) as ours,
        running(Kafka(), asked.data / "kafka", port=asked.port + 50) as theirs,
    ):
        brokers = {"headrace": ours, "kafka": theirs}
        for size, count in ((1000, asked.rows), (100, 2 * asked.rows)) if asked.rows else ():
            for kind, write in (("batch", _batch), ("stream", _stream)):
                rates = _rates(spark, brokers, write, count, size, asked.rounds)
                label = f"{kind} write, {'1 KB' if size == 1000 else f'{size} B'}"
                rows.append(Row(label, rates["headrace"], rates["kafka"], "rows/s"))
        once_ms, at_least_once_ms, theirs_ms = in_turns(
            [
                lambda: _floor(spark, "headrace", ours),
                lambda: _floor(spark, "headrace", ours, AT_LEAST_ONCE),
                lambda: _floor(spark, "kafka", theirs),
            ]
        )
        rows.append(Row("micro-batch of 200 rows", once_ms, theirs_ms, "ms", is_less_better=True))
        rows.append(Row("the same, both at least once", at_least_once_ms, theirs_ms, "ms", is_less_better=True))
    spark.stop()
    _save(rows, asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_write", description=__doc__)
    parser.add_argument(
        "--rows", type=int, default=2_000_000, help="rows of 1 KB, twice as many of 100 B; 0: floors only"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--data", type=Path, default=OUT / "spark-data")
    parser.add_argument("--port", type=int, default=19592)
    return parser.parse_args()


def _session(master: str) -> Any:
    from headrace.spark import session

    return session(master, name="bench", conf={"spark.jars": spark_connector.jars()})


def _rates(
    spark: Any, brokers: dict[str, Running], write: Write, count: int, size: int, rounds: int
) -> dict[str, float]:
    rates: dict[str, list[float]] = {kind: [] for kind in brokers}
    for number in range(rounds + 1):
        for kind in list(brokers) if number % 2 else list(brokers)[::-1]:
            with topic(brokers[kind], PARTITIONS, fsync=False) as name:
                rate = write(spark, kind, brokers[kind], name, count, size)
            print(f"{write.__name__[1:]} {size} B {kind}: {rate:,.0f} rows/s", file=sys.stderr, flush=True)
            if number:  # the first round is for the just-in-time compilers
                rates[kind].append(rate)
    return {kind: statistics.median(each) for kind, each in rates.items()}


def _values(size: int, number: str) -> list[str]:
    digits = 10
    return [
        f"lpad(string({number}), {digits}, '0') as key",
        f"concat(string({number}), '{'x' * (size - digits)}') as value",
    ]


def _batch(spark: Any, kind: str, broker: Running, name: str, count: int, size: int) -> float:
    frame = spark.range(count, numPartitions=PARTITIONS).selectExpr(*_values(size, "id"))
    began = time.monotonic()
    frame.write.format(kind).mode("append").options(**_target(broker, name)).save()
    return count / (time.monotonic() - began)


def _stream(spark: Any, kind: str, broker: Running, name: str, count: int, size: int) -> float:
    """Rows over the time of the batches after the first, as Spark reports them."""
    batches = _run_batches(spark, kind, broker, name, count // STREAM_BATCHES, size, STREAM_BATCHES)
    seconds = sum(each["durationMs"]["triggerExecution"] for each in batches) / 1000
    return float(sum(each["numInputRows"] for each in batches) / seconds)


def _floor(spark: Any, kind: str, broker: Running, options: Mapping[str, str] = NO_OPTIONS) -> float:
    with topic(broker, PARTITIONS, fsync=False) as name:
        batches = _run_batches(spark, kind, broker, name, 200, 100, 30, options)
    return float(statistics.median(each["durationMs"]["triggerExecution"] for each in batches))


def _run_batches(
    spark: Any,
    kind: str,
    broker: Running,
    name: str,
    rows: int,
    size: int,
    wanted: int,
    options: Mapping[str, str] = NO_OPTIONS,
) -> list[Any]:
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
    frame = source.option("numPartitions", PARTITIONS).load().selectExpr(*_values(size, "value"))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as checkpoint:
        writer = frame.writeStream.format(kind).options(**_target(broker, name), **options)
        query = writer.option("checkpointLocation", checkpoint).start()
        deadline = time.monotonic() + DEADLINE_SECONDS
        while query.isActive and (query.lastProgress or {"batchId": -1})["batchId"] < wanted:
            assert time.monotonic() < deadline, f"{kind}: the stream is too slow"
            time.sleep(0.1)
        query.stop()
        if query.exception():
            raise SystemExit(str(query.exception()))
        return [each for each in query.recentProgress if 0 < each["batchId"] <= wanted]


def _target(broker: Running, name: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "topic": name}


def _save(rows: list[Row], asked: argparse.Namespace) -> None:
    OUT.mkdir(exist_ok=True)
    head = f"Spark on {asked.master}, {asked.rows:,} rows of 1 KB, {PARTITIONS} partitions, median of {asked.rounds}"
    lines = [head, "", "| row | Headrace | Spark's connector on Kafka | ratio |", "|---|--:|--:|--:|"]
    lines += [
        f"| {row.name} | {row.ours:,.0f} {row.unit} | {row.theirs:,.0f} {row.unit} | {row.ratio:.2f}× |" for row in rows
    ]
    print("\n".join(lines))
    (OUT / "spark_write.md").write_text("\n".join(lines) + "\n")
    figures = [{**row._asdict(), "ratio": row.ratio} for row in rows]
    (OUT / "spark_write.json").write_text(json.dumps({"head": head, "rows": figures}, indent=1))


if __name__ == "__main__":
    main()
