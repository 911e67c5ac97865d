"""The gateway's own `/metrics`: its requests, its process, and what it knows of the cluster: lag, alerts, who is up."""

from collections import Counter
from collections.abc import Iterator
from itertools import chain

from headrace import __version__
from headrace.base import process
from headrace.base.exposition import Metric, histogram_samples, labels_of
from headrace.gateway.monitor.alerts import FIRING
from headrace.gateway.monitor.monitor import Monitor
from headrace.gateway.monitor.sight import ANSWERS, LAG, UP


def own_metrics(monitor: Monitor) -> Iterator[Metric]:
    yield Metric("headrace_gateway_info", "gauge", "Always 1; who this is.", [(labels_of(version=__version__), 1)])
    yield from _requests(monitor)
    yield from _process(monitor)
    yield from _cluster(monitor)


def _requests(monitor: Monitor) -> Iterator[Metric]:
    seen = monitor.requests
    counts = [
        (labels_of(method=method, path=path, status=status), count)
        for (method, path, status), count in seen.counts.items()
    ]
    times = chain.from_iterable(histogram_samples(each, path=path) for path, each in seen.latencies.items())
    prefix = "headrace_gateway_request"
    yield Metric(f"{prefix}s_total", "counter", "Requests by method, route and status.", counts)
    yield Metric(f"{prefix}_seconds", "histogram", "From a request to the beginning of its reply.", times)
    yield Metric(f"{prefix}s_open", "gauge", "Requests, streams and WebSockets open now.", [("", seen.open)])


def _process(monitor: Monitor) -> Iterator[Metric]:
    prefix = "headrace_gateway_process"
    yield Metric(f"{prefix}_cpu_seconds_total", "counter", "CPU time.", [("", process.cpu_seconds())])
    yield Metric(f"{prefix}_resident_bytes", "gauge", "Memory held now.", [("", process.resident_bytes())])
    lag = histogram_samples(monitor.loop_lag)
    yield Metric("headrace_gateway_loop_lag_seconds", "histogram", "Delay of the event loop.", lag)


def _cluster(monitor: Monitor) -> Iterator[Metric]:
    history = monitor.history_kept
    lags = [(labels_of(**dict(labels)), value) for labels, value in history.latest(LAG).items() if len(labels) > 1]
    up = [(labels_of(**dict(labels)), value) for labels, value in history.latest(UP).items()]
    firing = Counter(alert.name for alert in monitor.alerts.all if alert.state == FIRING)
    alerts = [(labels_of(alert=rule.name), firing[rule.name]) for rule in monitor.alerts.rules]
    yield Metric(LAG, "gauge", "Records that a group has still to read.", lags)
    yield Metric(UP, "gauge", "1 for a broker whose metrics could be fetched.", up)
    answers = [("", value) for value in history.latest(ANSWERS).values()]
    yield Metric(ANSWERS, "gauge", "1 if the cluster answered at the last look, metrics or not.", answers)
    yield Metric("headrace_alerts_firing", "gauge", "Alerts that fire now.", alerts)
    if not monitor.is_watching:
        return
    failures = [("", monitor.notifier.failures)]
    yield Metric("headrace_alert_webhook_failures_total", "counter", "Tries that the alert webhook failed.", failures)
