"""`python -m bench.spark_lake`: a topic into a table, by `pipeline lake` from Headrace, beside Spark's own connector from
Apache Kafka writing Parquet with zstd.

Both topics hold the same JSON records of 1 KB, written by Spark itself; one session has both; rounds alternate who goes
first and the medians are compared. Ours includes making the table, its commits and its clean-up; theirs is `spark.read` to
`write.parquet` of all columns, which promises less: no table, no restart. Writes a table and JSON to bench/out.
"""

import argparse
import json
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import spark_connector
from bench.broker import Running, running
from bench.headrace import Headrace
from bench.kafka import Kafka
from bench.spark_read import Row
from bench.topics import topic

OUT = Path(__file__).parent / "out"
PARTITIONS = 4
LAKES = {
    "iceberg": ("iceberg", "none"),
    "delta": ("delta", "none"),
    "parquet": ("parquet", "none"),
    "iceberg, JSON decoded": ("iceberg", "json"),
}


def main() -> None:
    asked = _arguments()
    spark = _session(asked.master)
    with (
        running(Headrace(), asked.data / "headrace", port=asked.port) as ours,
        running(Kafka(), asked.data / "kafka", port=asked.port + 50) as theirs,
        topic(ours, PARTITIONS, fsync=False) as mine,
        topic(theirs, PARTITIONS, fsync=False) as other,
    ):
        for kind, broker, name in (("headrace", ours, mine), ("kafka", theirs, other)):
            _fill(spark, kind, broker, name, asked.rows)
        runs = {label: _lake(spark, ours, mine, *chosen) for label, chosen in LAKES.items()}
        runs["connector"] = _connector(spark, theirs, other)
        rates = _rates(runs, asked)
    spark.stop()
    _save([Row(f"lake, {label}", rates[label], rates["connector"], "rows/s") for label in LAKES], asked)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.spark_lake", description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--data", type=Path, default=OUT / "spark-data")
    parser.add_argument("--port", type=int, default=19492)
    return parser.parse_args()


def _session(master: str) -> Any:
    from headrace.spark import session

    return session(master, name="bench", conf={"spark.jars": spark_connector.jars()})


def _fill(spark: Any, kind: str, broker: Running, name: str, rows: int) -> None:
    """About 1 KB of JSON, of which half is as hard to compress as an identifier."""
    noise = [f"sha2(string(id * 31 + {i}), 256) as hash_{i}" for i in range(8)]
    fields = ", ".join(["id", "id % 1000 as customer", "id / 7 as amount", "repeat('headrace ', 40) as note", *noise])
    frame = spark.range(rows, numPartitions=PARTITIONS).selectExpr(
        "string(id % 1000) as key", f"to_json(struct({fields})) as value"
    )
    target = {"kafka.bootstrap.servers": broker.bootstrap, "topic": name}
    frame.write.format(kind).mode("append").options(**target).save()


def _lake(spark: Any, broker: Running, name: str, format: Any, decode: Any) -> Callable[[Path], int]:
    from headrace.pipelines.lake import lake

    def run(to: Path) -> int:
        report = lake(name, to, bootstrap=broker.bootstrap, format=format, decode=decode, spark=spark)
        assert report.undecoded == 0, f"{report.undecoded} values were not decoded"
        return report.rows

    return run


def _connector(spark: Any, broker: Running, name: str) -> Callable[[Path], int]:
    options = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": name, "includeHeaders": "true"}

    def run(to: Path) -> int:
        frame = spark.read.format("kafka").options(**options).load()
        frame.write.option("compression", "zstd").parquet(str(to))
        return -1

    return run


def _rates(runs: dict[str, Callable[[Path], int]], asked: argparse.Namespace) -> dict[str, float]:
    rates: dict[str, list[float]] = {label: [] for label in runs}
    to = asked.data / "lake"
    for number in range(asked.rounds + 1):
        for label in list(runs) if number % 2 else list(runs)[::-1]:
            shutil.rmtree(to, ignore_errors=True)
            began = time.monotonic()
            rows = runs[label](to)
            rate = asked.rows / (time.monotonic() - began)
            assert rows in (asked.rows, -1), f"{label}: {rows} rows"
            size = sum(file.stat().st_size for file in to.rglob("*.parquet")) / 1e6
            print(f"{label}: {rate:,.0f} rows/s, {size:,.0f} MB", file=sys.stderr, flush=True)
            if number:  # the first round is for the just-in-time compilers
                rates[label].append(rate)
    shutil.rmtree(to, ignore_errors=True)
    return {label: statistics.median(each) for label, each in rates.items()}


def _save(rows: list[Row], asked: argparse.Namespace) -> None:
    OUT.mkdir(exist_ok=True)
    head = f"Spark on {asked.master}, {asked.rows:,} rows of 1 KB, {PARTITIONS} partitions, median of {asked.rounds}"
    lines = [head, "", "| row | Headrace | Spark's connector on Kafka | ratio |", "|---|--:|--:|--:|"]
    lines += [
        f"| {row.name} | {row.ours:,.0f} {row.unit} | {row.theirs:,.0f} {row.unit} | {row.ratio:.2f}× |" for row in rows
    ]
    print("\n".join(lines))
    (OUT / "spark_lake.md").write_text("\n".join(lines) + "\n")
    figures = [{**row._asdict(), "ratio": row.ratio} for row in rows]
    (OUT / "spark_lake.json").write_text(json.dumps({"head": head, "rows": figures}, indent=1))


if __name__ == "__main__":
    main()
