"""Metrics of retention and compaction: how near each topic is to losing its oldest records, and the cost of cleaning."""

from collections.abc import Iterator

from headrace.base.exposition import Metric
from headrace.broker.upkeep.cleaner import Cleaner
from headrace.broker.upkeep.retention import Retention, rows


def upkeep_metrics(retention: Retention | None, cleaner: Cleaner | None) -> Iterator[Metric]:
    if retention is not None:
        pressure = list(rows(retention.pressure))
        fill = [(labels, full) for labels, full, _ in pressure if full]
        due = [(labels, seconds) for labels, _, seconds in pressure if seconds]
        dropped: list[tuple[str, float]] = [("", retention.segments_dropped)]
        yield Metric("headrace_topic_retention_fill_ratio", "gauge", "Bytes kept, of retention.bytes; fullest.", fill)
        yield Metric("headrace_topic_oldest_due_seconds", "gauge", "When the oldest segment goes, unix time.", due)
        yield Metric("headrace_retention_segments_total", "counter", "Segments dropped by retention.", dropped)
    if cleaner is not None:
        for name, help_text, value in (
            ("runs_total", "Compactions done.", cleaner.runs),
            ("failures_total", "Compactions that failed.", cleaner.failures),
            ("read_bytes_total", "Bytes of log that compaction read.", cleaner.bytes_read),
            ("written_bytes_total", "Bytes of log that it wrote.", cleaner.bytes_written),
            ("seconds_total", "Time that it took.", cleaner.seconds),
        ):
            yield Metric(f"headrace_cleaner_{name}", "counter", help_text, [("", value)])
