"""The part of `/metrics` about push: the listeners, and how much was sent to them."""

from collections.abc import Iterator

from headrace.base.exposition import Metric, labels_of
from headrace.gateway.push.hub import Hub


def push_metrics(hub: Hub) -> Iterator[Metric]:
    listening = {"topic": hub.listeners - hub.in_groups, "group": hub.in_groups}
    sent = {"sse": hub.sent.sse, "websocket": hub.sent.websocket}
    yield Metric(
        "headrace_push_listeners",
        "gauge",
        "Event streams and WebSockets open now.",
        [(labels_of(of=kind), count) for kind, count in listening.items()],
    )
    yield Metric(
        "headrace_push_events_total",
        "counter",
        "Events sent to listeners.",
        [(labels_of(transport=kind), count) for kind, count in sent.items()],
    )
    yield Metric("headrace_push_kept_bytes", "gauge", "Recent messages kept for all listeners.", [("", hub.kept_bytes)])
