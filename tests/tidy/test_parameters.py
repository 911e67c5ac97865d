"""No function takes more than eight things; each option of a command is a parameter of its function."""

import ast

from declared import Function, all_functions, functions
from shrinking import hold

PARAMETERS_MAX = 8
ALLOWED = {
    "headrace.broker.broker.Broker.__init__",
    "headrace.cli.backup.commands.restore",
    "headrace.cli.messages.consume.consume",
    "headrace.cli.group.commands.reset",
    "headrace.cli.log.commands.dump",
    "headrace.cli.pipeline.clean",
    "headrace.cli.pipeline.lake",
    "headrace.cli.pipeline.mirror",
    "headrace.cli.pipeline.traffic",
    "headrace.cli.plan.plan.plan",
    "headrace.cli.messages.produce.produce",
    "headrace.cli.webhook.add",
    "headrace.cluster.topic_settings._declare",
    "headrace.gateway.messages.routes.asked_for",
    "headrace.partition.partition.Partition.__init__",
    "headrace.pipelines.clean.clean",
    "headrace.pipelines.lake.lake",
    "headrace.pipelines.mirror.mirror",
    "headrace.pipelines.replay.replay",
    "headrace.pipelines.traffic.traffic",
    "headrace.spark.sink.encode.append",
    "headrace.wire.records.build_batch",
}


def parameters(function: Function) -> int:
    taken = function.args
    named = [each.arg for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs)]
    return sum(name not in ("self", "cls") for name in named) + (taken.vararg is not None) + (taken.kwarg is not None)


def test_no_function_takes_too_many_parameters() -> None:
    fix = "give it one object that holds them"
    hold({name for name, each in all_functions() if parameters(each) > PARAMETERS_MAX}, ALLOWED, fix)


def test_the_rule_bites() -> None:
    ((_, function),) = functions(ast.parse("def f(self, a, /, b, *c, d=1, **e): ..."), "m")
    assert parameters(function) == 5
