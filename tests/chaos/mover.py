"""One mover of `transfers`, a program of its own: it copies a topic in transactions that carry its group's offsets.

    python mover.py BOOTSTRAP GROUP TRANSACTIONAL_ID SOURCE TARGET

Says `calls` before each call that may wait for brokers and `moved COUNT` after each commit, one line each, so that whoever
started it sees when a call does not come back. Ends with its standard input; ends with GAVE_UP after an error of the
library, since the next of its transactional id ends what it left open.
"""

import json
import os
import select
import sys
import time

from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition

BATCH = 50
CALL_SECONDS = 10.0
GAVE_UP = 3
# The variable with the options of who it is, as JSON.
LOGIN = "CHAOS_MOVER_LOGIN"
SOON = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "socket.timeout.ms": 3_000, "log_level": 0}


def move(bootstrap: str, group: str, transactional_id: str, source: str, target: str) -> None:
    brokers = {"bootstrap.servers": bootstrap, **SOON, **json.loads(os.environ.get(LOGIN, "{}"))}
    producer = Producer(
        {**brokers, "transactional.id": transactional_id, "transaction.timeout.ms": 10_000, "linger.ms": 2}
    )
    _say("calls")
    producer.init_transactions(CALL_SECONDS)
    consumer = Consumer(
        {
            **brokers,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "session.timeout.ms": 6_000,
        }
    )
    try:
        consumer.subscribe([source])
        while not _is_told_to_end():
            _say("calls")
            messages = [each for each in consumer.consume(BATCH, timeout=0.2) if each.error() is None]
            if messages:
                _copy(producer, consumer, messages, target)
    finally:
        _say("calls")
        consumer.close()


def _is_told_to_end() -> bool:
    return bool(select.select([sys.stdin], [], [], 0)[0])


def _copy(producer: Producer, consumer: Consumer, messages: list[Message], target: str) -> None:
    producer.begin_transaction()
    ends: dict[tuple[str, int], int] = {}
    for message in messages:
        producer.produce(target, message.value(), partition=message.partition())
        ends[message.topic(), message.partition()] = message.offset() + 1
    offsets = [TopicPartition(*place, offset) for place, offset in ends.items()]
    _say("calls")
    producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), CALL_SECONDS)
    _commit(producer)
    _say(f"moved {len(messages)}")


def _commit(producer: Producer) -> None:
    """Asked again as long as it may still succeed: to give up would leave the outcome open."""
    deadline = time.monotonic() + 3 * CALL_SECONDS
    while True:
        _say("calls")
        try:
            return producer.commit_transaction(CALL_SECONDS)
        except KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > deadline:
                raise


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    try:
        move(*sys.argv[1:])
    except KafkaException:
        sys.exit(GAVE_UP)
