"""The part of `/metrics` about webhooks, each by its id: tries and their results, deliveries, and what waits."""

from collections.abc import Callable, Iterator, Mapping

from headrace.base.exposition import Metric, labels_of
from headrace.gateway.monitor.page import Labels
from headrace.gateway.webhooks.deliveries import Deliveries
from headrace.gateway.webhooks.tally import Tally

PREFIX = "headrace_webhook"


def webhook_metrics(deliveries: Deliveries, lags: Mapping[Labels, float]) -> Iterator[Metric]:
    """`lags` are those of groups, as the monitor saw them last: what waits is what the webhook's group has not read."""
    tallies = deliveries.tallies
    tries = [
        (labels_of(webhook=id, result=result), count)
        for id, tally in tallies.items()
        for result, count in tally.tries.items()
    ]
    groups = {each.id: (("group", each.group),) for each in deliveries.registry.subscriptions.values()}
    backlog = [(labels_of(webhook=id), lags[group]) for id, group in groups.items() if group in lags]
    yield Metric(f"{PREFIX}_tries_total", "counter", "POSTs to the receiver, by their result.", tries)
    yield _counter("retries", "Those of them that repeated one that failed.", tallies, lambda tally: tally.retries)
    yield _counter("messages", "Messages that the receiver accepted.", tallies, lambda tally: tally.messages)
    yield _counter("dead_letters", "Messages given up.", tallies, lambda tally: tally.dead_letters)
    yield Metric(f"{PREFIX}_backlog", "gauge", "Messages not delivered yet, by all gateways together.", backlog)


def _counter(name: str, help: str, tallies: Mapping[str, Tally], count: Callable[[Tally], int]) -> Metric:
    samples = [(labels_of(webhook=id), count(tally)) for id, tally in tallies.items()]
    return Metric(f"{PREFIX}_{name}_total", "counter", help, samples)
