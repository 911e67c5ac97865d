"""Connections of each listener, and until when its certificate is good."""

from collections.abc import Iterator

from headrace.base.exposition import Metric, labels_of
from headrace.broker.net.listeners import Listeners


def connection_metrics(listeners: Listeners) -> Iterator[Metric]:
    """Two metrics, by listener; a listener without TLS has no certificate."""
    open_now = [(labels_of(listener=each.plan.name), len(each.connections)) for each in listeners]
    yield Metric("headrace_listener_connections", "gauge", "Connections open now, by listener.", open_now)
    expiries = ((each.plan.name, each.certificate_expires_at) for each in listeners)
    yield Metric(
        "headrace_certificate_expires_timestamp_seconds",
        "gauge",
        "Until when the certificate of a listener is good.",
        [(labels_of(listener=name), expires_at) for name, expires_at in expiries if expires_at is not None],
    )
