"""Spans as a collector gets them."""

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from gateway_process import SECONDS, GatewayProcess
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from headrace.testing import Broker

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


class Collector(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.spans: list = []


class Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            raise AssertionError("not asked for")
        request = ExportTraceServiceRequest.FromString(body)
        self.server.spans += [span for r in request.resource_spans for s in r.scope_spans for span in s.spans]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *arguments: object) -> None:
        return


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_request_is_a_span_under_its_callers(broker: Broker, collector: Collector) -> None:
    endpoint = f"http://127.0.0.1:{collector.server_port}"
    gateway = GatewayProcess(broker.bootstrap, "--set", f"otel_endpoint={endpoint}").start()
    with gateway.client() as client:
        assert client.get("/metrics/brokers/77", headers={"traceparent": f"00-{TRACE}-{PARENT}-01"}).status_code == 404
    gateway.stop()
    deadline = time.monotonic() + SECONDS
    while not collector.spans:
        assert time.monotonic() < deadline, "no span arrived in time"
        time.sleep(0.05)
    (span,) = collector.spans
    assert span.name == "GET /metrics/brokers/{broker}"
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, PARENT)
    attributes = {each.key: each.value for each in span.attributes}
    assert attributes["http.response.status_code"].int_value == 404
