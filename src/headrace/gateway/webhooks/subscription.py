"""A subscription as it is kept: a record of the compacted topic, keyed by its id; a record without value deletes it.

What changes later has a record of its own, keyed `<id>/<field>`: gateways that change different things at the same time,
or one that has not yet heard that it was deleted, do not undo each other's work. A value begins with its format's version;
one that we do not know is left alone, for the newer gateway that wrote it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

import orjson

from headrace.gateway.webhooks.retry import RetryPolicy
from headrace.gateway.webhooks.sealed_secrets import CannotOpen, SecretKeys

FORMAT = 1
# The same with `sealed_secret` in place of `secret`.
SEALED_FORMAT = 2
State = Literal["active", "paused"]
Change = Literal["state", "redrive_until", "redriven"]
CHANGES: tuple[Change, ...] = get_args(Change)
Offsets = Mapping[int, int]
"""Offsets by partition."""


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
    redrive_until: Offsets
    """The dead letters to deliver again: up to these offsets. How far that is, the redrive group's commits say."""
    redriven: Offsets = field(default_factory=dict)
    """Offsets below which dead letters were redriven, kept since a redrive's group and commits end with it."""

    @property
    def redrive_group(self) -> str:
        return f"{self.group}.redrive"

    @property
    def groups(self) -> tuple[str, str]:
        return self.group, self.redrive_group

    @property
    def own_groups(self) -> tuple[str, ...]:
        """The groups that end with this subscription. A group that its maker named stays: another webhook may go on there.

        Beside such a group, one of the redrive group's name is ours only if there was a redrive.
        """
        if self.group == own_group(self.id):
            return self.groups
        return (self.redrive_group,) if self.redrive_until or self.redriven else ()

    @property
    def redrive_left(self) -> Offsets:
        return {each: end for each, end in self.redrive_until.items() if end > self.redriven.get(each, 0)}

    @property
    def is_active(self) -> bool:
        return self.state == "active"

    def view(self) -> dict[str, Any]:
        """The public view: everything but the secret, which is never shown again."""
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

    def to_record(self, keys: SecretKeys | None = None) -> bytes:
        """With `keys` its secret is sealed."""
        fields = {name: _plain(value) for name, value in asdict(self).items()}
        if keys is not None:
            fields["sealed_secret"] = keys.seal(self.id, fields.pop("secret"))
        return orjson.dumps({"format": SEALED_FORMAT if keys else FORMAT, **fields, "retry": self.retry._asdict()})


def own_group(id: str) -> str:
    return f"webhook.{id}"


def holder_of(wanted: Subscription, others: Iterable[Subscription]) -> Subscription | None:
    """Another subscription that reads as one of the groups that this one wants."""
    return next((each for each in others if each.id != wanted.id and set(each.groups) & set(wanted.groups)), None)


def from_record(value: bytes, keys: SecretKeys | None = None) -> Subscription | None:
    """None for a newer format, or for what somebody else wrote into our topic; CannotOpen for a secret without its key."""
    try:
        fields = orjson.loads(value)
        format = fields.pop("format")
        if format == SEALED_FORMAT:
            fields["secret"] = _opened(fields["id"], fields.pop("sealed_secret"), keys)
        elif format != FORMAT:
            return None
        fields["retry"] = RetryPolicy(**fields["retry"])
        return Subscription(**{name: _typed(name, each) for name, each in fields.items()})
    except CannotOpen:
        raise
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _opened(id: str, sealed: str, keys: SecretKeys | None) -> str:
    if keys is None:
        raise CannotOpen("it is sealed, and there is no webhook_keys")
    return keys.open(id, sealed)


def change_record(name: Change, value: State | Offsets) -> bytes:
    return orjson.dumps({"format": FORMAT, name: _plain(value)})


def changed_by(subscription: Subscription, name: str, value: bytes) -> Subscription | None:
    """None for a change that we do not understand."""
    try:
        fields = orjson.loads(value)
        if name not in CHANGES or fields["format"] != FORMAT:
            return None
        after: Any = _typed(name, fields[name])
        if name == "redriven":
            after = _furthest(subscription.redriven, after)
        return replace(subscription, **{name: after})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _furthest(before: Offsets, after: Offsets) -> Offsets:
    """The larger offset of each partition: a slow gateway may write of an earlier redrive."""
    return {each: max(before.get(each, 0), after.get(each, 0)) for each in {**before, **after}}


def _plain(value: Any) -> Any:
    """Offsets by partition have numbers for keys, which JSON has not."""
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else value


def _typed(name: str, value: Any) -> Any:
    return {int(key): each for key, each in value.items()} if name in ("redrive_until", "redriven") else value
