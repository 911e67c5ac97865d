"""`/metrics`, read as strictly as a scraper may."""

import re

from headrace.base.exposition import Metric, histogram_samples, labels_of, render
from headrace.base.probe import Histogram
from headrace.broker.metrics.server import metrics_of
from headrace.broker.metrics.topics import partition_metrics
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest
from sim.host import PORT
from sim.wireclient import WireClient
from sim.world import World

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABELS = r'\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\n"])*",?)*\}'
SAMPLE = re.compile(rf"({NAME})({LABELS})? (-?[0-9.]+(?:e[+-]?[0-9]+)?|NaN|[+-]Inf)")


def parse(text: str) -> dict[str, tuple[str, dict[str, float]]]:
    """{name: (type, {labels: value})}; fails on anything the format does not allow."""
    assert text.endswith("\n")
    metrics: dict[str, tuple[str, dict[str, float]]] = {}
    name = ""
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            name = line.split(" ", 3)[2]
            assert name not in metrics, f"{name} comes twice"
        elif line.startswith("# TYPE "):
            _, _, typed, kind = line.split(" ")
            assert typed == name and kind in ("counter", "gauge", "histogram")
            assert (kind == "counter") == name.endswith("_total"), f"{name} is a {kind}"
            metrics[name] = (kind, {})
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            suffix = found[1].removeprefix(name)
            assert suffix in (("_bucket", "_sum", "_count") if metrics[name][0] == "histogram" else ("",)), line
            labels = suffix + (found[2] or "")
            assert labels not in metrics[name][1], f"{line} comes twice"
            metrics[name][1][labels] = float(found[3])
    return metrics


def test_samples_stand_under_their_metric() -> None:
    text = render(
        [
            Metric("a_total", "counter", "Things.", [('{topic="x"}', 1), ('{topic="y"}', 2.5)]),
            Metric("b", "gauge", "More things.", [("", 0)]),
        ]
    )
    assert parse(text) == {
        "a_total": ("counter", {'{topic="x"}': 1.0, '{topic="y"}': 2.5}),
        "b": ("gauge", {"": 0.0}),
    }


def test_very_large_and_very_small_values_are_numbers() -> None:
    text = render([Metric("a", "gauge", "Things.", [("", 1e-07), ('{n="2"}', 1 << 60)])])
    assert list(parse(text)["a"][1].values()) == [1e-07, float(1 << 60)]


def test_labels_hold_any_text() -> None:
    text = render([Metric("a", "gauge", "Things.", [(labels_of(group='say "hi"\\\n'), 1)])])
    assert parse(text) == {"a": ("gauge", {r'{group="say \"hi\"\\\n"}': 1.0})}


def test_a_histogram_counts_what_took_at_most_each_bound() -> None:
    histogram = Histogram()
    for seconds in (0.0, 63e-6, 65e-6, 0.003, 1.0, 1e6):
        histogram.observe(seconds)
    samples = parse(render([Metric("a", "histogram", "Times.", histogram_samples(histogram, api="X"))]))["a"][1]
    buckets = [value for labels, value in samples.items() if labels.startswith("_bucket")]
    assert buckets == sorted(buckets)
    assert samples['_bucket{api="X",le="6.4e-05"}'] == 2
    assert samples['_bucket{api="X",le="0.004096"}'] == 4
    assert samples['_bucket{api="X",le="+Inf"}'] == samples['_count{api="X"}'] == 6
    assert samples['_sum{api="X"}'] == sum((0.0, 63e-6, 65e-6, 0.003, 1.0, 1e6))


def test_a_running_brokers_metrics_hold_to_the_format_and_count() -> None:
    world = World("metrics", 1, {})
    (host,) = world.hosts
    world.start(host)
    assert world.agenda.run(60.0, until=lambda: host.is_serving)
    loop = world.client_loop("client")

    async def create() -> None:
        client = await WireClient.open(loop, (host.address, PORT))
        await client.ask(CreateTopicsRequest([CreatableTopic(f"a.b_c-{number}", 2, 1) for number in range(3)]), 7)

    task = loop.create_task(create())
    assert world.agenda.run(60.0, until=task.done)
    broker = host.node.broker
    metrics = parse(render(metrics_of(broker)))
    partitions = parse(render(partition_metrics(list(broker.partitions), broker.clock.now().mono)))
    world.end()
    assert partitions["headrace_partition_isr_size"][1]['{topic="a.b_c-2",partition="1"}'] == 1
    assert metrics["headrace_topic_isr_size_min"][1]['{topic="a.b_c-2"}'] == 1
    assert metrics["headrace_leaderless_partitions"][1][""] == 0
    assert metrics["headrace_request_seconds"][1]['_count{api="CreateTopics"}'] == 1
    assert metrics["headrace_topic_partitions"][1]['{topic="a.b_c-2"}'] == 2
    assert metrics["headrace_requests_total"][1]['{api="CreateTopics",version="7"}'] == 1
    assert metrics["headrace_connections_accepted_total"][1][""] == 1
    assert metrics["headrace_handler_failures_total"] == ("counter", {"": 0.0})
