"""`headrace txn …` on a transaction that a real client has left open."""

import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

SECONDS = 30.0


@pytest.fixture
def name() -> str:
    return f"tx-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def producer(bootstrap: str, topic: str, name: str) -> Iterator[Producer]:
    made = Producer({"bootstrap.servers": bootstrap, "transactional.id": name, "log_level": 0})
    made.init_transactions(SECONDS)
    made.begin_transaction()
    made.produce(topic, b"in doubt")
    made.flush(SECONDS)
    yield made


def test_list_and_describe(cli, producer: Producer, topic: str, name: str) -> None:
    listed = {each["id"]: each for each in cli("txn", "list", "--state", "Ongoing", "--json").json}
    assert listed[name]["state"] == "Ongoing"
    described = cli("txn", "describe", name, "--json").json
    assert described["partitions"] == [f"{topic}-0"]
    assert described["producer"] == listed[name]["producer"]
    assert name in cli("txn", "list").text
    producer.commit_transaction(SECONDS)
    assert name not in {each["id"] for each in cli("txn", "list", "--state", "Ongoing", "--json").json}
    unknown = cli("txn", "describe", "nobody")
    assert (unknown.code, "there is no transactional id nobody" in unknown.err) == (3, True)


def test_abort_takes_a_live_one_only_by_force(cli, producer: Producer, topic: str) -> None:
    assert cli("txn", "find-hanging", "--topic", topic, "--idle-seconds", "0", "--json").json == []
    refused = cli("txn", "abort", topic, "0", "--start-offset", "0")
    assert (refused.code, "--force" in refused.err) == (3, True)
    aborted = cli("txn", "abort", topic, "0", "--start-offset", "0", "--force", "--json")
    assert aborted.code == 0, aborted.err
    assert aborted.json["partition"] == f"{topic}-0"
    assert cli("txn", "abort", topic, "0", "--start-offset", "0", "--force").code == 3, "it is over"
    producer.abort_transaction(SECONDS)
