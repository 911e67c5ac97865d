"""Traffic of a topic: rows and bytes in windows of time, sizes, gaps and delays, hot keys, skew of partitions.

One read of the topic: what is asked of each record (its size, its time) is computed once and kept by Spark for the four
questions. Sizes are those of key and value. A gap is the time between two records of a partition, by their timestamps; a
delay is from a time in the value (`event_time`, a field of JSON in ms or ISO 8601) to the record's own.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.base.errors import UserError
from headrace.pipelines.kafka import DEFAULT_BOOTSTRAP, Kafka, look_at
from headrace.pipelines.progress import Listener, ProgressClock, ignore

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

WINDOWS_MAX = 60
HOT_KEYS = 10
_WIDTHS = (1, 5, 10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 86_400, 604_800)
_SHARES = (0.5, 0.99)


class TrafficReport(NamedTuple):
    topic: str
    rows: int
    bytes: int
    seconds: float
    rows_per_second: float
    window_seconds: int
    windows: list[dict[str, Any]]
    partitions: list[dict[str, Any]]
    skew: float
    """Rows of the fullest partition against the mean: 1 is even."""
    hot_keys: list[dict[str, Any]]


def traffic(
    topic: str,
    *,
    bootstrap: str = DEFAULT_BOOTSTRAP,
    options: Mapping[str, str] | None = None,
    window_seconds: int | None = None,
    event_time: str | None = None,
    to: str | Path | None = None,
    picture: str | Path | None = None,
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
    on_progress: Listener = ignore,
) -> TrafficReport:
    """Measures all that the topic holds now. `to` gets the windows as a Parquet file, `picture` as a PNG or SVG."""
    kafka = Kafka(bootstrap, options or {})
    view = look_at(kafka, topic)
    if spark is None:
        from headrace.spark import session

        spark = session(master, name=f"headrace traffic {topic}")
    clock = ProgressClock("traffic", on_progress)
    records = _measured(spark, kafka, topic, event_time).persist()
    try:
        partitions = [row.asDict() for row in _by_partition(records).collect()]
        rows = sum(each["rows"] for each in partitions)
        clock.on_batch(rows, 0)
        width = window_seconds or _width(partitions)
        windows = [row.asDict() for row in _by_window(records, width).collect()]
        hot = [_readable(row.asDict()) for row in _hot_keys(records).collect()]
    finally:
        records.unpersist()
    idle = [
        {"partition": p, "rows": 0, "bytes": 0} for p in view.end.keys() - {each["partition"] for each in partitions}
    ]
    report = TrafficReport(
        topic=topic,
        rows=rows,
        bytes=sum(each["bytes"] for each in partitions),
        seconds=round(clock.seconds, 3),
        rows_per_second=round(clock.rows_per_second),
        window_seconds=width,
        windows=windows,
        partitions=sorted(partitions + idle, key=lambda each: int(each["partition"])),
        skew=round(max((each["rows"] for each in partitions), default=0) * len(view.end) / max(rows, 1), 2),
        hot_keys=hot,
    )
    _keep(report, to, picture)
    return report


def _measured(spark: "SparkSession", kafka: Kafka, topic: str, event_time: str | None) -> "DataFrame":
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    columns = "key binary, value binary, partition int, offset bigint, timestamp timestamp"
    source = spark.read.format("headrace").options(**kafka.source_options(), subscribe=topic).schema(columns).load()
    size = f.coalesce(f.length("key"), f.lit(0)) + f.coalesce(f.length("value"), f.lit(0))
    delay = _delay_ms(event_time) if event_time else f.lit(None).cast("bigint")
    measured = source.select(
        "key", "partition", "offset", "timestamp", size.cast("bigint").alias("bytes"), delay.alias("delay_ms")
    )
    before = f.lag("timestamp").over(Window.partitionBy("partition").orderBy("offset"))
    gap = f.unix_millis("timestamp") - f.unix_millis(before)
    return measured.withColumn("gap_ms", gap)


def _delay_ms(field: str) -> "Column":
    from pyspark.sql import functions as f

    text = f.get_json_object(f.col("value").cast("string"), f"$.{field}")
    iso = f.unix_millis(f.try_to_timestamp(text))
    return f.unix_millis("timestamp") - f.coalesce(text.try_cast("bigint"), iso)


def _by_partition(records: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as f

    return records.groupBy("partition").agg(
        f.count("*").alias("rows"),
        f.sum("bytes").alias("bytes"),
        f.unix_millis(f.min("timestamp")).alias("first_ms"),
        f.unix_millis(f.max("timestamp")).alias("last_ms"),
    )


def _by_window(records: "DataFrame", width: int) -> "DataFrame":
    from pyspark.sql import functions as f

    windows = records.groupBy(f.window("timestamp", f"{width} seconds").alias("window"))
    measures = [f.count("*").alias("rows"), f.sum("bytes").alias("bytes"), f.max("bytes").alias("bytes_max")]
    for name in ("bytes", "gap_ms", "delay_ms"):
        shares = f.percentile_approx(name, list(_SHARES))
        measures += [shares[i].alias(f"{name}_p{share * 100:.0f}") for i, share in enumerate(_SHARES)]
    measures += [f.approx_count_distinct("key").alias("keys")]
    found = windows.agg(*measures)
    rate = (f.col("rows") / width).alias("rows_per_second")
    start = f.col("window.start").alias("start")
    return found.select(start, rate, *(name for name in found.columns if name != "window")).orderBy("start")


def _hot_keys(records: "DataFrame") -> "DataFrame":
    from pyspark.sql import functions as f

    keyed = records.where(f.col("key").isNotNull()).groupBy("key")
    return keyed.agg(f.count("*").alias("rows"), f.sum("bytes").alias("bytes")).orderBy(f.desc("rows")).limit(HOT_KEYS)


def _width(partitions: list[dict[str, Any]]) -> int:
    """The least round number of seconds that makes no more than WINDOWS_MAX windows of the whole."""
    if not partitions:
        return _WIDTHS[0]
    span = (max(each["last_ms"] for each in partitions) - min(each["first_ms"] for each in partitions)) / 1000
    return next((width for width in _WIDTHS if span / width <= WINDOWS_MAX), _WIDTHS[-1])


def _readable(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "key": bytes(row["key"]).decode(errors="backslashreplace")}


def _keep(report: TrafficReport, to: str | Path | None, picture: str | Path | None) -> None:
    if to is not None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not report.windows:
            raise UserError(f"{report.topic} is empty: there is nothing to write to {to}", "leave out --to")
        Path(to).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(report.windows), str(to))
    if picture is not None:
        from headrace.pipelines.traffic_picture import draw

        draw(report, Path(picture))
