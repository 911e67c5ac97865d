"""A restored topic is read by every client: where nothing was committed at its start there is a batch without records."""

import os
import uuid

import pytest
from confluent_kafka import Producer

from clients.client import Client
from ended import until_ended
from headrace.cli import app

pytestmark = pytest.mark.skipif("HEADRACE_TEST_BOOTSTRAP" in os.environ, reason="only Headrace restores")

PREFIX = "restored."


@pytest.fixture(scope="module")
def topic(bootstrap: str, reference: Client, tmp_path_factory: pytest.TempPathFactory) -> str:
    name = f"outcomes-{uuid.uuid4()}"
    reference.create_topic(name, 1)
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": name})
    producer.init_transactions(30)
    for value, count, is_committed in (
        (b"no", 300, False),
        (b"yes", 2, True),
        (b"no", 5, False),
        (b"yes", 1, True),
        (b"no", 7, False),
    ):
        producer.begin_transaction()
        for _ in range(count):
            producer.produce(name, value, partition=0)
        producer.flush(30)
        producer.commit_transaction(30) if is_committed else producer.abort_transaction(30)
    until_ended(bootstrap, name)
    folder = str(tmp_path_factory.mktemp("backups"))
    assert app.run(["backup", "create", folder, "--topics", name, "--bootstrap", bootstrap]) == 0
    assert app.run(["backup", "restore", folder, "--prefix", PREFIX, "--yes", "--bootstrap", bootstrap]) == 0
    after = Producer({"bootstrap.servers": bootstrap})
    after.produce(PREFIX + name, b"after", partition=0)
    assert after.flush(30) == 0
    return PREFIX + name


def test_every_client_reads_what_was_committed(client: Client, topic: str) -> None:
    assert [record.value for record in client.consume(topic, count=4)] == [b"yes", b"yes", b"yes", b"after"]
