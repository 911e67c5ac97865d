"""No function has more than 40 lines, its docstring and its parameters included."""

import ast

from declared import Function, all_functions, functions
from shrinking import hold

LINES_MAX = 40
ALLOWED = {
    "headrace.broker.broker.Broker.__init__",
    "headrace.broker.node.Node.start",
    "headrace.cli.messages.consume.consume",
    "headrace.cli.group.commands.reset",
    "headrace.cli.pipeline.lake",
    "headrace.cli.pipeline.mirror",
    "headrace.cli.pipeline.traffic",
    "headrace.cli.plan.plan.plan",
    "headrace.cli.messages.produce.produce",
    "headrace.cli.run.serve_options._parser",
    "headrace.client.cluster_client.ClusterClient.fetch",
    "headrace.gateway.messages.rendering.Rendering._add_window",
    "headrace.gateway.ui.pages.overview.overview",
    "headrace.gateway.ui.pages.topics.topics",
    "headrace.partition.appends.Appends.append",
    "headrace.pipelines.clean.clean",
    "headrace.pipelines.lake.lake",
    "headrace.pipelines.mirror.mirror",
    "headrace.pipelines.replay.replay",
    "headrace.pipelines.traffic.traffic",
    "headrace.spark.source.kernels.index_records",
    "headrace.spark.source.read._fetch_ahead",
    "headrace.spark.sink.encode.append",
    "headrace.spark.source.options.source_options",
    "headrace.wire.records.build_batch",
}


def lines(function: Function) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_no_function_is_too_long() -> None:
    hold({name for name, each in all_functions() if lines(each) > LINES_MAX}, ALLOWED, "split it")


def test_the_rule_bites() -> None:
    ((name, function),) = functions(ast.parse("class C:\n  async def f(self):\n" + "    1\n" * 40), "m")
    assert (name, lines(function)) == ("m.C.f", 41)
