"""No class has more than 20 methods."""

import ast

from declared import Function, all_classes, classes
from shrinking import hold

METHODS_MAX = 20
ALLOWED = {
    "headrace.api.client.Client",
    "headrace.api.consumer.Consumer",
    "headrace.api.producer.Producer",
    "headrace.broker.coordinators.logged.LoggedCoordinator",
    "headrace.broker.handlers.fetch.ActiveFetch",
    "headrace.broker.net.listener.Connection",
    "headrace.broker.partitions.Partitions",
    "headrace.broker.replication.fetcher.Fetcher",
    "headrace.cli.supervisor.Supervisor",
    "headrace.gateway.push.hub.Hub",
    "headrace.gateway.webhooks.webhooks.Webhooks",
    "headrace.groups.consumer.ConsumerGroup",
    "headrace.groups.coordinator.Groups",
    "headrace.log.log.Log",
    "headrace.log.segment.Segment",
    "headrace.replica.leader.LeaderReplica",
}


def methods(node: ast.ClassDef) -> int:
    return sum(isinstance(each, Function) for each in node.body)


def test_no_class_has_too_many_methods() -> None:
    hold({name for name, each in all_classes() if methods(each) > METHODS_MAX}, ALLOWED, "split it")


def test_the_rule_bites() -> None:
    ((_, node),) = classes(ast.parse("class C:\n  x = 1\n  def f(self): ...\n  async def g(self): ..."), "m")
    assert methods(node) == 2
