"""Spans as a collector gets them."""

from collections.abc import Iterator

import pytest
from gateway_process import GatewayProcess

from collector import Collector
from headrace.testing import Broker

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        yield server


def test_a_request_is_a_span_under_its_callers(broker: Broker, collector: Collector) -> None:
    gateway = GatewayProcess(broker.bootstrap, "--set", f"otel_endpoint={collector.url}").start()
    with gateway.client() as client:
        assert client.get("/metrics/brokers/77", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"}).status_code == 404
    gateway.stop()
    (span,) = collector.spans_when(lambda spans: bool(spans))
    assert span.name == "GET /metrics/brokers/{broker}"
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    attributes = {each.key: each.value for each in span.attributes}
    assert attributes["http.response.status_code"].int_value == 404
