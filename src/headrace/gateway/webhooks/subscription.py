"""A subscription as it is kept: one record of the compacted topic, keyed by its id; a record without value deletes it.

A value begins with its format's version; one that we do not know is left alone, for the newer gateway that wrote it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import orjson

from headrace.gateway.webhooks.retry import RetryPolicy

FORMAT = 1
State = Literal["active", "paused"]


@dataclass(frozen=True, slots=True)
class Subscription:
    id: str
    topic: str
    group: str
    callback_url: str
    secret: str = field(repr=False)
    dead_letter_topic: str
    messages_max: int
    timeout_ms: int
    retry: RetryPolicy
    state: State
    created_ms: int
    redrive_until: Mapping[int, int]
    """The dead letters to deliver again: up to these offsets, by partition. What was done is the redrive group's commits."""

    @property
    def redrive_group(self) -> str:
        return f"{self.group}.redrive"

    @property
    def is_active(self) -> bool:
        return self.state == "active"

    def view(self) -> dict[str, Any]:
        """What is shown: everything but the secret, which nobody sees again."""
        return {
            "id": self.id,
            "topic": self.topic,
            "group": self.group,
            "callback_url": self.callback_url,
            "dead_letter_topic": self.dead_letter_topic,
            "messages_max": self.messages_max,
            "timeout_ms": self.timeout_ms,
            "retry": self.retry._asdict(),
            "state": self.state,
            "created_ms": self.created_ms,
        }

    def to_record(self) -> bytes:
        fields = asdict(self)
        fields["retry"] = self.retry._asdict()
        fields["redrive_until"] = {str(partition): offset for partition, offset in self.redrive_until.items()}
        return orjson.dumps({"format": FORMAT, **fields})


def from_record(value: bytes) -> Subscription | None:
    """None for a newer format, or for what somebody else wrote into our topic."""
    try:
        fields = orjson.loads(value)
        if fields.pop("format") != FORMAT:
            return None
        fields["retry"] = RetryPolicy(**fields["retry"])
        fields["redrive_until"] = {int(partition): offset for partition, offset in fields["redrive_until"].items()}
        return Subscription(**fields)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None
