"""One look at the cluster, and what of it is kept: which metrics, added up how.

A counter is kept as its rate. A topic's value is that of all its brokers together, the sum unless another rule is given
here; `{}` is the whole cluster. What a look did not see is gone, or could not be seen: `Sight.is_gone` tells.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from headrace.base.ids import TopicPartition
from headrace.gateway.monitor.counters import Counters
from headrace.gateway.monitor.history import Series
from headrace.gateway.monitor.lags import Lags
from headrace.gateway.monitor.page import Labels, Page, labels_of

LEADERS = "headrace_topic_leaders"
LEADERLESS = "headrace_leaderless_partitions"
TOPIC_RATES = (
    "headrace_topic_records_in_total",
    "headrace_topic_bytes_in_total",
    "headrace_topic_records_out_total",
    "headrace_topic_bytes_out_total",
)
BROKER_RATES = (
    "headrace_requests_total",
    "headrace_bytes_received_total",
    "headrace_bytes_sent_total",
    "headrace_process_cpu_seconds_total",
    "headrace_unclean_elections_total",
)
TOPIC_GAUGES: Mapping[str, Callable[[Iterable[float]], float]] = {
    "headrace_topic_log_bytes": sum,
    "headrace_topic_under_replicated": sum,
    "headrace_topic_isr_size_min": min,
    "headrace_topic_replica_lag_records": max,
    "headrace_topic_replica_lag_seconds": max,
    "headrace_topic_retention_fill_ratio": max,
}
BROKER_GAUGES = (
    "headrace_process_resident_bytes",
    "headrace_disk_free_bytes",
    "headrace_disk_total_bytes",
    "headrace_disk_reserve_bytes",
    "headrace_connections_open",
    LEADERLESS,
)
LAG = "headrace_group_lag"
UP = "headrace_broker_up"
ANSWERS = "headrace_cluster_answers"
INFO = "headrace_broker_info"
WANTED = frozenset((*TOPIC_RATES, *BROKER_RATES, *TOPIC_GAUGES, *BROKER_GAUGES, LEADERS, INFO))
RATES = (*TOPIC_RATES, *BROKER_RATES)


class Sight(NamedTuple):
    at: float
    """Unix time."""
    pages: Mapping[int, Page]
    """The metrics page of each broker that answered."""
    missing: frozenset[int] = frozenset()
    """Brokers that answered before, and not now."""
    lags: Lags = Lags()
    is_answered: bool = False
    """Whether the cluster answered a question of Kafka's, pages or not."""

    def is_gone(self, labels: Labels) -> bool:
        """Whether what has these labels and no measure is not there any more: else it could not be measured now."""
        match labels:
            case (("broker", broker),):
                return int(broker) not in self.pages and int(broker) not in self.missing
            case (("group", group),):
                return self.lags.is_complete and group not in self.lags.behind
            case (("topic", _),):
                # Whoever does not answer may lead it.
                return bool(self.pages) and not self.missing
        return False


def recorded(sight: Sight, counters: Counters) -> dict[Series, float]:
    """In order of importance: when there is too much to keep, it is the last that is not kept."""
    of_brokers, of_groups = dict(_broker_gauges(sight)), dict(_lags(sight.lags))
    of_brokers.update(_led(sight))
    of_brokers[Series(ANSWERS)] = float(sight.is_answered)
    return of_brokers | _rates(sight, counters) | _topic_gauges(sight) | of_groups


def _rates(sight: Sight, counters: Counters) -> dict[Series, float]:
    sums: defaultdict[Series, float] = defaultdict(float)
    for broker, page in sight.pages.items():
        of_broker = labels_of({"broker": broker})
        for name, labels, rate in counters.rates(broker, page, RATES, sight.at):
            sums[Series(name)] += rate
            sums[Series(name, of_broker)] += rate
            if name in TOPIC_RATES:
                sums[Series(name, labels)] += rate
    return dict(sums)


def _topic_gauges(sight: Sight) -> dict[Series, float]:
    found: defaultdict[Series, list[float]] = defaultdict(list)
    for page in sight.pages.values():
        for name in TOPIC_GAUGES:
            for labels, value in page.get(name, {}).items():
                found[Series(name, labels)].append(value)
    values = {series: TOPIC_GAUGES[series.name](each) for series, each in found.items()}
    for name, rule in TOPIC_GAUGES.items():
        of_topics = [value for series, value in values.items() if series.name == name]
        if of_topics:
            values[Series(name)] = rule(of_topics)
    return values


def _broker_gauges(sight: Sight) -> Iterator[tuple[Series, float]]:
    for broker, page in sight.pages.items():
        labels = labels_of({"broker": broker})
        yield Series(UP, labels), 1.0
        for name in BROKER_GAUGES:
            for value in page.get(name, {}).values():
                yield Series(name, labels), value
    for broker in sight.missing:
        yield Series(UP, labels_of({"broker": broker})), 0.0


def _led(sight: Sight) -> Iterator[tuple[Series, float]]:
    """The number of led partitions of all topics: the loss, when no broker answers any more."""
    if sight.pages:
        yield Series(LEADERS), sum(sum(page.get(LEADERS, {}).values()) for page in sight.pages.values())


def _lags(lags: Lags) -> Iterator[tuple[Series, float]]:
    for group, behind in lags.behind.items():
        if group not in lags.partial:
            # A part of it would look as if the group caught up.
            yield Series(LAG, labels_of({"group": group})), sum(behind.values())
        for id, lag in behind.items():
            yield Series(LAG, lag_labels(group, id)), lag


def lag_labels(group: str, id: TopicPartition) -> Labels:
    return labels_of({"group": group, "topic": id.topic, "partition": id.partition})
