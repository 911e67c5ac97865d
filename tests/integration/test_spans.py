"""Spans of a broker, as a collector gets them, from an ordinary client's requests."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from collector import Collector
from headrace.testing import Broker

CLIENT = "order-service"


@pytest.fixture(scope="module")
def spans() -> Iterator[dict[str, list[Any]]]:
    """By API: of one message that was stored and read, and of a topic that is not there."""
    settings = {"auto.create.topics.enable": "false", "num.partitions": 1}
    with Collector() as collector:
        with Broker({**settings, "otel.endpoint": collector.url}) as broker:
            _work(broker.bootstrap)
        # Whatever was on its way leaves when the broker stops.
        found: dict[str, list[Any]] = defaultdict(list)
        for span in collector.spans_when(lambda spans: any(span.name == "LeaveGroup" for span in spans)):
            found[span.name].append(span)
        yield found


def _work(bootstrap: str) -> None:
    from headrace.cli.app import run

    assert run(["topic", "create", "orders", "--bootstrap", bootstrap]) == 0
    config = {"bootstrap.servers": bootstrap, "client.id": CLIENT}
    producer = Producer({**config, "acks": "all"})
    producer.produce("orders", "one")
    assert producer.flush(30) == 0
    consumer = Consumer({**config, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    message = consumer.poll(30)
    assert message is not None and message.error() is None
    consumer.list_topics("missing", 10)
    consumer.close()


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in span.attributes}


def test_a_produce_says_who_stored_where_and_how_long_it_waited(spans: dict[str, list[Any]]) -> None:
    (span,) = spans["Produce"]
    told = attributes(span)
    assert told["messaging.client.id"] == CLIENT
    assert told["messaging.destination.name"] == "orders"
    assert (told["headrace.acks"], told["headrace.broker"]) == (-1, 1)
    duration_ms = (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6
    # For its sync, and in a larger cluster for its replicas.
    assert 0 < told["headrace.waited_ms"] <= duration_ms
    assert "headrace.error_codes" not in told
    assert span.parent_span_id == b""


def test_a_fetch_by_topic_id_is_told_by_name(spans: dict[str, list[Any]]) -> None:
    assert {attributes(span).get("messaging.destination.name") for span in spans["Fetch"]} >= {"orders"}


def test_a_reply_with_an_error_is_a_failed_span(spans: dict[str, list[Any]]) -> None:
    failed = [span for span in spans["Metadata"] if "headrace.error_codes" in attributes(span)]
    span, *_ = [each for each in failed if "missing" in str(attributes(each)["headrace.topics"])]
    assert span.status.message == "UNKNOWN_TOPIC_OR_PARTITION"
    assert span.status.code == 2
