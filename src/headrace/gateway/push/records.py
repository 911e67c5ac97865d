"""A Consumer's message as the record it is."""

from confluent_kafka import Message

from headrace.wire.records import Record


def record_of(message: Message) -> Record:
    offset = message.offset()
    assert offset is not None, "what was read has an offset"
    headers = message.headers() or ()
    return Record(offset, message.timestamp()[1], message.key(), message.value(), headers)  # type: ignore[arg-type]
