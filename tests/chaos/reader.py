"""Everything that is in some partitions, read by another library than the one that wrote it."""

from collections.abc import Iterable

from chaos.ledger import Found, Place, Written
from chaos.login import NOBODY, Login
from eventually import until
from kafka import KafkaConsumer, TopicPartition

READ_SECONDS = 180.0


def read_all(
    bootstrap: str, places: Iterable[Place], isolation_level: str = "read_uncommitted", login: Login = NOBODY
) -> dict[Place, list[Found]]:
    wanted = [TopicPartition(*place) for place in places]
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        check_crcs=True,
        isolation_level=isolation_level,
        **login.kafka_python,
    )
    try:
        consumer.assign(wanted)
        ends = consumer.end_offsets(wanted)
        found: dict[Place, list[Found]] = {(each.topic, each.partition): [] for each in wanted}

        def is_at_end() -> bool:
            for where, messages in consumer.poll(500).items():
                found[where.topic, where.partition] += [
                    Found(message.offset, Written.decode(message.value)) for message in messages
                ]
            return all(consumer.position(each) >= ends[each] for each in wanted)

        until(is_at_end, seconds=READ_SECONDS, otherwise="the end was not reached")
        return found
    finally:
        consumer.close()
