"""`/metrics` of a real broker and a real gateway, what the gateway keeps of it, and whether the papers agree with it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from gateway_process import SECONDS, GatewayProcess
from metric_page import page_at, value_on

from eventually import until
from headrace.gateway.monitor.rules import RULES
from headrace.testing import Broker

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs" / "monitoring.md"
METRIC = re.compile(r"\bheadrace_[a-z_]+")
Kinds = dict[str, str]


def kinds_on(page: str) -> Kinds:
    return dict(re.findall(r"^# TYPE (\S+) (\S+)$", page, re.MULTILINE))


@pytest.fixture(scope="module")
def watching(broker: Broker) -> Iterator[httpx.Client]:
    metrics = httpx.URL(broker.metrics_url).netloc.decode()
    running = GatewayProcess(
        broker.bootstrap, "--set", f"broker_metrics={metrics}", "--set", "scrape_seconds=0.2"
    ).start()
    with running.client() as client:
        yield client
    running.stop()


@pytest.fixture
def produced(broker: Broker, topic: str) -> str:
    """A topic with a thousand records, of which a group has read 400."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    for number in range(1000):
        producer.produce(topic, b"x" * 100, str(number).encode())
    assert producer.flush(SECONDS) == 0
    settings = {"bootstrap.servers": broker.bootstrap, "log_level": 0, "enable.auto.commit": False}
    consumer = Consumer({**settings, "group.id": f"g-{topic}"})
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert len(consumer.consume(1000, SECONDS)) == 1000
    consumer.commit(offsets=[TopicPartition(topic, 0, 400)], asynchronous=False)
    consumer.close()
    return topic


def documented() -> Kinds:
    return dict(re.findall(r"^\| `(headrace_[a-z_]+)` \| (\w+) \|", DOCS.read_text(), re.MULTILINE))


def test_docs_name_every_metric_and_no_other(broker: Broker, watching: httpx.Client, produced: str) -> None:
    served = kinds_on(page_at(broker.metrics_url))
    served |= kinds_on(page_at(f"{broker.metrics_url}/partitions?topic={produced}"))
    served |= kinds_on(watching.get("/metrics").text)
    assert documented() == served


@pytest.mark.parametrize("paper", ["grafana/headrace.json", "prometheus/headrace.rules.yml"])
def test_dashboard_and_rules_ask_for_metrics_that_exist(paper: str) -> None:
    known = documented()
    sampled = set(known) | {f"{name}_bucket" for name, kind in known.items() if kind == "histogram"}
    text = (ROOT / "deploy" / paper).read_text()
    expressions = re.findall(r"(?:expr|query)\"?: (.*)", text)
    asked = {name for each in expressions for name in METRIC.findall(each)}
    assert asked and asked <= sampled


def test_the_dashboard_shows_what_was_asked_for() -> None:
    dashboard = json.loads((ROOT / "deploy" / "grafana" / "headrace.json").read_text())
    panels = [panel for panel in dashboard["panels"] if panel["type"] != "row"]
    assert all(target["expr"].count("(") == target["expr"].count(")") for each in panels for target in each["targets"])
    assert len({panel["id"] for panel in dashboard["panels"]}) == len(dashboard["panels"])
    shown = {
        name.removesuffix("_bucket") for each in panels for t in each["targets"] for name in METRIC.findall(t["expr"])
    }
    assert len(shown) > 30


def test_docs_state_the_rules_as_they_are() -> None:
    text = DOCS.read_text()
    for rule in RULES:
        row = next(line for line in text.splitlines() if line.startswith(f"| `{rule.name}` |"))
        _, _, _, for_seconds, _, keep_seconds, _ = row.split("|")
        assert (for_seconds.strip(), keep_seconds.strip()) == (f"{rule.for_seconds:g} s", f"{rule.keep_seconds:g} s")


def test_a_broker_counts_by_topic(broker: Broker, produced: str) -> None:
    page = page_at(broker.metrics_url)
    assert value_on(page, "headrace_topic_records_in_total", topic=produced) == 1000
    assert value_on(page, "headrace_topic_bytes_in_total", topic=produced) > 100_000
    assert value_on(page, "headrace_topic_records_out_total", topic=produced) >= 1000
    assert value_on(page, "headrace_topic_isr_size_min", topic=produced) == 1
    assert value_on(page, "headrace_request_seconds_count", api="Produce") >= 1
    assert value_on(page, "headrace_sync_seconds_count") >= 1
    assert 0 < value_on(page, "headrace_disk_free_bytes") < value_on(page, "headrace_disk_total_bytes")
    assert value_on(page, "headrace_process_resident_bytes") > 10e6


def test_partitions_are_there_for_the_asking(broker: Broker, produced: str) -> None:
    page = page_at(f"{broker.metrics_url}/partitions?topic={produced}")
    assert value_on(page, "headrace_partition_end_offset", topic=produced, partition="0") == 1000
    assert "headrace_partition_end_offset{" not in page_at(f"{broker.metrics_url}/partitions?topic=nobody")


def test_a_gateway_knows_the_lag_of_groups(watching: httpx.Client, produced: str) -> None:
    sample = f'headrace_group_lag{{group="g-{produced}",partition="0",topic="{produced}"}} 600'
    until(lambda: sample in watching.get("/metrics").text)


def test_a_gateway_keeps_what_it_saw(watching: httpx.Client, produced: str) -> None:
    def points(**asked: object) -> list[dict[str, float]]:
        reply = watching.get("/api/v1/metrics/history", params=asked)
        return reply.raise_for_status().json()["points"]

    until(lambda: len(points(metric="headrace_topic_log_bytes", topic=produced)) > 1)
    assert points(metric="headrace_topic_log_bytes", topic=produced)[-1]["value"] > 100_000
    assert points(metric="headrace_broker_up", broker=1)[-1]["value"] == 1
    assert points(metric="headrace_topic_bytes_in_total")[-1]["value"] >= 0
    assert points(metric="headrace_topic_log_bytes", topic="nobody") == []
    assert watching.get("/api/v1/metrics/history").status_code == 422


def test_a_brokers_page_through_the_gateway(watching: httpx.Client) -> None:
    until(lambda: watching.get("/metrics/brokers/1").status_code == 200)
    assert value_on(watching.get("/metrics/brokers/1").text, "headrace_broker_info", broker="1") == 1
    missing = watching.get("/metrics/brokers/99")
    assert missing.status_code == 404
    assert "broker_metrics" in missing.json()["fix"]


def test_a_gateway_counts_requests_by_route(watching: httpx.Client) -> None:
    for number in range(3):
        watching.get(f"/metrics/brokers/{1000 + number}")
        watching.get(f"/made/up/{number}")
    page = watching.get("/metrics").text
    assert value_on(page, "headrace_gateway_requests_total", path="/metrics/brokers/{broker}", status="404") >= 3
    assert value_on(page, "headrace_gateway_requests_total", path="none", status="404") >= 3
    assert "/made/up" not in page


def test_a_gateway_measures_itself(watching: httpx.Client) -> None:
    def measured(name: str) -> float:
        return value_on(watching.get("/metrics").text, f"headrace_gateway_{name}")

    looks, cpu_seconds = measured("loop_lag_seconds_count"), measured("process_cpu_seconds_total")
    until(lambda: measured("loop_lag_seconds_count") > looks)
    until(lambda: measured("process_cpu_seconds_total") > cpu_seconds > 0)
    assert measured("requests_open") >= 1, "this one"
    assert measured("process_resident_bytes") > 10e6


def test_no_alert_where_all_is_well(watching: httpx.Client) -> None:
    answer = watching.get("/api/v1/alerts").json()
    assert [rule["name"] for rule in answer["rules"]] == [rule.name for rule in RULES]
    assert not [alert for alert in answer["alerts"] if alert["name"] == "HeadraceNoLeader"]


def test_a_rule_that_is_not_there_is_refused(broker: Broker) -> None:
    wrong = GatewayProcess(broker.bootstrap, "--set", 'alert_rules={"NoSuch": {}}')
    with pytest.raises(AssertionError, match="did not start"):
        wrong.start()
    assert wrong.process is not None
    assert wrong.process.wait(SECONDS) == 2
