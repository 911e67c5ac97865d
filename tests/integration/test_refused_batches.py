"""A broker that refuses one batch now and then, while others of the same producer are on their way behind it.

librdkafka gives up a transaction when it hears of a gap in its sequence: there is none that it made.
"""

import time
from itertools import count
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from headrace.base.errors import Refused
from headrace.partition.appends import Appended, Appends
from headrace.testing import Broker
from headrace.wire.codes import ErrorCode

TOPIC = "orders"
TRANSACTIONS, MESSAGES = 2, 150
REFUSED_EVERY, STILL_SECONDS, PACE_SECONDS = 25, 0.1, 0.002
PASSING = [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.KAFKA_STORAGE_ERROR]


def refuse_now_and_then(monkeypatch: pytest.MonkeyPatch, code: ErrorCode) -> None:
    append, calls = Appends.append, count(1)

    def refusing(self: Appends, *batch: Any) -> Appended:
        if self._role.id.topic == TOPIC and next(calls) % REFUSED_EVERY == 0:
            # The broker stands still meanwhile, so that more batches are on their way before the client knows.
            time.sleep(STILL_SECONDS)
            raise Refused(code, "for a moment")
        return append(self, *batch)

    monkeypatch.setattr(Appends, "append", refusing)


def write_transactions(bootstrap: str) -> None:
    options = {
        "transactional.id": "t",
        "batch.num.messages": 5,
        "retry.backoff.ms": 20,
        "log_level": 0,
    }
    producer = Producer({"bootstrap.servers": bootstrap, **options})
    producer.init_transactions(30)
    for transaction in range(TRANSACTIONS):
        producer.begin_transaction()
        for number in range(MESSAGES):
            producer.produce(TOPIC, f"{transaction}/{number}", partition=0)
            time.sleep(PACE_SECONDS)
        producer.commit_transaction(60)


def read_all(bootstrap: str) -> list[str]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "r", "isolation.level": "read_committed"})
    consumer.assign([TopicPartition(TOPIC, 0, 0)])
    values: list[str] = []
    try:
        while (left := TRANSACTIONS * MESSAGES - len(values)) > 0:
            messages = consumer.consume(left, timeout=60)
            assert messages, f"only {len(values)} came"
            values += [message.value().decode() for message in messages]
    finally:
        consumer.close()
    return values


@pytest.mark.parametrize("code", PASSING, ids=lambda code: code.name)
def test_no_transaction_is_given_up_for_it(monkeypatch: pytest.MonkeyPatch, code: ErrorCode) -> None:
    with Broker(in_process=True) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, 1, 1)])[TOPIC].result()
        refuse_now_and_then(monkeypatch, code)
        write_transactions(broker.bootstrap)
        wanted = [f"{transaction}/{number}" for transaction in range(TRANSACTIONS) for number in range(MESSAGES)]
        assert read_all(broker.bootstrap) == wanted
