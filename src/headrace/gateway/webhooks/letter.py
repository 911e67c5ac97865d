"""A message on its way to a receiver, and what its dead letter looks like. Pure.

Its id is the same at every try, in every batch, and after a redrive: by it a receiver knows what it has seen before.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson

from headrace.base.dead_letters import PREFIX, Origin, dead_letter_headers, origin_of, own_headers
from headrace.gateway.messages.outgoing import render_record
from headrace.wire.records import Record

SUBSCRIPTION = f"{PREFIX}subscription"


class Letter(NamedTuple):
    """`record` is as it was in its own topic, also while it is redriven."""

    topic: str
    partition: int
    record: Record

    @property
    def id(self) -> str:
        return f"{self.topic}-{self.partition}-{self.record.offset}"

    @property
    def size(self) -> int:
        _, _, key, value, headers = self.record
        return len(key or b"") + len(value or b"") + sum(len(name) + len(text or b"") for name, text in headers)

    def fields(self) -> dict[str, Any]:
        return {"id": self.id, "topic": self.topic, "partition": self.partition, **render_record(self.record)}


def body_of(subscription_id: str, letters: Sequence[Letter]) -> bytes:
    return orjson.dumps({"subscription": subscription_id, "messages": [letter.fields() for letter in letters]})


def delivery_id(subscription_id: str, letters: Sequence[Letter]) -> str:
    """The same for every try of the same batch."""
    return f"{subscription_id}.{letters[0].id}.{len(letters)}"


def to_dead_letter(letter: Letter, subscription_id: str, reason: str, tries: int, now_ms: int) -> Record:
    """The message with its own headers, and where it came from and why it is here."""
    origin = Origin(letter.topic, letter.partition, letter.record.offset, letter.record.timestamp)
    more = {"subscription": subscription_id, "tries": str(tries), "failed-ms": str(now_ms)}
    headers = [*letter.record.headers, *dead_letter_headers(origin, reason, more)]
    return letter.record._replace(offset=-1, timestamp=now_ms, headers=headers)


def from_dead_letter(record: Record, subscription_id: str) -> Letter | None:
    """The message as it was; None for the letter of another subscription, or one that nobody of ours wrote."""
    ours = {name: (text or b"").decode(errors="replace") for name, text in record.headers if name.startswith(PREFIX)}
    if ours.get(SUBSCRIPTION) != subscription_id:
        return None
    origin = origin_of(ours)
    if origin is None:
        return None
    own = own_headers(record.headers)
    original = record._replace(offset=origin.offset, timestamp=origin.timestamp, headers=own)
    return Letter(origin.topic, origin.partition, original)
