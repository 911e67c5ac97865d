"""Brokers that ask for logins, and a gateway that passes on those of its callers."""

import uuid

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from gateway.gateway_process import SECONDS
from gateway.login.login_world import gateway_before, librdkafka, secured_broker


@pytest.fixture(scope="session")
def secured(tmp_path_factory):
    with secured_broker(tmp_path_factory.mktemp("secured"), {}) as running:
        yield running


@pytest.fixture(scope="session")
def front(secured, tmp_path_factory):
    running = gateway_before(secured, tmp_path_factory.mktemp("front")).start()
    yield running
    running.stop()


@pytest.fixture
def orders(secured):
    name = f"orders-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(librdkafka(secured, "root"))
    admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1)])[name].result(SECONDS)
    return name
