"""Measurements of the monitor as pages show them: the last value of each, and lines over the same moments."""

from collections.abc import Iterable, Mapping

from headrace.base.ids import TopicPartition
from headrace.gateway.monitor.history import Series
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.monitor.page import labels_of
from headrace.gateway.monitor.sight import LAG, lag_labels
from headrace.gateway.ui.chart import Values

RECORDS_IN = "headrace_topic_records_in_total"
BYTES_IN = "headrace_topic_bytes_in_total"
BYTES_OUT = "headrace_topic_bytes_out_total"
SHOWN_SECONDS = 1800.0


def cluster_rate(monitor: Monitor, metric: str) -> float | None:
    """None before it was measured twice."""
    return monitor.latest(metric).get(())


def topic_rate(monitor: Monitor, metric: str, topic: str) -> float | None:
    return monitor.latest(metric).get(labels_of({"topic": topic}))


def group_lag(monitor: Monitor, group: str) -> int | None:
    lag = monitor.latest(LAG).get(labels_of({"group": group}))
    return None if lag is None else int(lag)


def lines(monitor: Monitor, wanted: Mapping[str, Series]) -> tuple[list[float], dict[str, Values]]:
    """The moments, and each line's values at them."""
    found = {
        name: {point.at: point.value for point in monitor.history(series.name, dict(series.labels), SHOWN_SECONDS)}
        for name, series in wanted.items()
    }
    times = sorted(set().union(*found.values()))
    return times, {name: [points.get(at) for at in times] for name, points in found.items()}


def topic_series(metric: str, topic: str) -> Series:
    return Series(metric, labels_of({"topic": topic}))


def lag_series(group: str, partitions: Iterable[TopicPartition]) -> dict[str, Series]:
    return {str(id): Series(LAG, lag_labels(group, id)) for id in partitions}


def total_lag_series(groups: Iterable[str]) -> dict[str, Series]:
    return {group: Series(LAG, labels_of({"group": group})) for group in groups}
