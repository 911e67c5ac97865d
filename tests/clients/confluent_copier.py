"""Copies a topic into another, each record once: consume, produce and commit the offsets in one transaction.

`python -m clients.confluent_copier BOOTSTRAP SOURCE SINK GROUP TRANSACTIONAL_ID`. Runs until it is killed, which may be
at any moment; the next one with the same transactional id goes on where the last whole transaction ended. A line
`abort` or `again` on stderr says what it met. Every seventh transaction is aborted on purpose.
"""

import os
import sys

from confluent_kafka import Consumer, KafkaException, Producer

SECONDS = 30.0
BATCH_MAX = 20


def main(bootstrap: str, source: str, sink: str, group: str, transactional_id: str) -> None:
    quiet = {"log_level": 0, "error_cb": lambda _: None}
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "session.timeout.ms": 6000,
            **quiet,
        }
    )
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 20_000,
            **quiet,
        }
    )
    producer.init_transactions(60)
    consumer.subscribe([source])
    count = 0
    while True:
        messages = [each for each in consumer.consume(BATCH_MAX, 0.2) if not each.error()]
        if not messages:
            continue
        count += 1
        try:
            producer.begin_transaction()
            for message in messages:
                producer.produce(sink, message.value(), key=message.key(), partition=message.partition())
            positions = [each for each in consumer.position(consumer.assignment()) if each.offset >= 0]
            producer.send_offsets_to_transaction(positions, consumer.consumer_group_metadata(), SECONDS)
            if count % 7 == 0:
                raise KafkaException("on purpose")
            until_committed(producer)
        except KafkaException as error:
            start_over(producer, consumer, error)


def until_committed(producer: Producer) -> None:
    while True:
        try:
            producer.commit_transaction(SECONDS)
            return
        except KafkaException as error:
            if not retriable(error):
                raise


def retriable(error: KafkaException) -> bool:
    return hasattr(error.args[0], "retriable") and error.args[0].retriable()


def start_over(producer: Producer, consumer: Consumer, error: KafkaException) -> None:
    """Abort, and read again from what is committed. What cannot be aborted needs a new process."""
    cause = error.args[0]
    if hasattr(cause, "fatal") and cause.fatal():
        print(f"again: {cause}", file=sys.stderr, flush=True)
        os._exit(1)
    print(f"abort: {cause}", file=sys.stderr, flush=True)
    while True:
        try:
            producer.abort_transaction(SECONDS)
            break
        except KafkaException as failed:
            if not retriable(failed):
                print(f"again: {failed}", file=sys.stderr, flush=True)
                os._exit(1)
    while True:
        try:
            for position in consumer.committed(consumer.assignment(), SECONDS):
                if position.offset < 0:
                    position.offset = 0
                consumer.seek(position)
            return
        except KafkaException as failed:
            print(f"abort: {failed}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:6])
