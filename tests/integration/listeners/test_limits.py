"""Limits of connections on real brokers: new ones at a bounded rate, and room for other brokers whatever clients do."""

import socket
import time
import urllib.request

import pytest
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType
from tls_world import HOST, SecureBroker, ask

from headrace.cli.run.ports import free_port
from headrace.client.connection import Disconnected
from headrace.testing import Broker
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse


def test_connections_that_come_too_fast_wait_and_are_served() -> None:
    with Broker(max_connection_creation_rate=5) as broker:
        for _ in range(12):
            assert not ask(broker.port, ApiVersionsRequest(), ApiVersionsResponse, 0).error_code


def test_another_broker_takes_the_place_of_a_silent_client() -> None:
    inside, outside = free_port(HOST), free_port(HOST)
    settings = {
        "listeners": f"INSIDE://{HOST}:{inside},OUTSIDE://{HOST}:{outside}",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
        "max.connections": 20,
        "max.connections.per.ip": 20,
    }
    with Broker(settings):
        clients = [socket.create_connection((HOST, outside)) for _ in range(20)]
        with pytest.raises(Disconnected):
            ask(outside, ApiVersionsRequest(), ApiVersionsResponse, 0)
        for _ in range(3):
            assert not ask(inside, ApiVersionsRequest(), ApiVersionsResponse, 0).error_code
        clients[0].settimeout(20)
        assert clients[0].recv(1) == b""
        for each in clients:
            each.close()


def test_metrics_of_listeners(secure: SecureBroker) -> None:
    page = urllib.request.urlopen(secure.broker.metrics_url, timeout=20).read().decode()
    assert 'headrace_listener_connections{listener="INSIDE"} ' in page
    (line,) = [each for each in page.splitlines() if each.startswith("headrace_certificate_expires_timestamp_seconds{")]
    assert line.startswith('headrace_certificate_expires_timestamp_seconds{listener="TLS"} ')
    days_left = (float(line.split()[-1]) - time.time()) / 86_400
    assert 28 < days_left < 31


def test_where_a_broker_listens_is_described(secure: SecureBroker) -> None:
    admin = AdminClient({"bootstrap.servers": secure.inside})
    asked = ConfigResource(ResourceType.BROKER, "1")
    described = admin.describe_configs([asked])[asked].result(20)
    values = {name: each.value for name, each in described.items()}
    urls = f"INSIDE://{HOST}:{secure.inside_port},TLS://{HOST}:{secure.port}"
    assert values["listeners"] == values["advertised.listeners"] == urls
    assert values["listener.security.protocol.map"] == "INSIDE:PLAINTEXT,TLS:SSL"
    assert values["inter.broker.listener.name"] == "INSIDE"
    assert described["ssl.key.password"].is_sensitive
