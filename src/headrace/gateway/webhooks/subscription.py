"""A subscription as it is kept: a record of the compacted topic, keyed by its id; a record without value deletes it.

What changes later has a record of its own, keyed `<id>/<field>`: gateways that change different things at the same time,
or one that has not yet heard that it was deleted, do not undo each other's work. A value begins with its format's version;
one that we do not know is left alone, for the newer gateway that wrote it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from dataclasses import fields as dataclass_fields
from typing import Any, Literal, NamedTuple, get_args

import orjson

from headrace.gateway.webhooks.retry import RetryPolicy
from headrace.gateway.webhooks.sealed_secrets import CannotOpen, SecretKeys

FORMAT = 1
# The same with `sealed_secret` in place of `secret`.
SEALED_FORMAT = 2
# The same with a mandate.
MANDATE_FORMAT = 3
State = Literal["active", "paused", "ended", "denied"]
"""Paused by somebody; ended or denied by the brokers, which do not take its mandate any more, or let it do too little."""
Change = Literal["state", "redrive_until", "redriven", "mandate"]
CHANGES: tuple[Change, ...] = get_args(Change)
REASONS: Mapping[State, str] = {
    "ended": "its token has ended or was revoked, or its owner is no user any more: its owner resumes it with a new one",
    "denied": "its owner may no longer read its topic as its group, or write its dead letters: allow it, and resume it",
}
Offsets = Mapping[int, int]
"""Offsets by partition."""


class Mandate(NamedTuple):
    """The scoped token by which a webhook acts for its owner, where callers log in."""

    owner: str
    token_id: str
    token: str
    until_ms: int
    """The end of its life; before that it is prolonged."""

    def __repr__(self) -> str:
        return f"Mandate({self.owner!r}, {self.token_id!r}, ***, {self.until_ms})"


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
    mandate: Mandate | None = None

    @property
    def owner(self) -> str:
        """The user for whom it acts; nobody where nobody logs in."""
        return self.mandate.owner if self.mandate else ""

    def with_mandate(self, mandate: Mandate) -> "Subscription":
        return replace(self, mandate=mandate)

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
        if self.group == own_group(self.id, self.owner):
            return self.groups
        return (self.redrive_group,) if self.redrive_until or self.redriven else ()

    @property
    def redrive_left(self) -> Offsets:
        return {each: end for each, end in self.redrive_until.items() if end > self.redriven.get(each, 0)}

    @property
    def is_active(self) -> bool:
        return self.state == "active"

    def view(self) -> dict[str, Any]:
        """The public view: everything but the secret, which is never shown again, and the token, which never is."""
        acts = {"owner": self.mandate.owner, "acts_until_ms": self.mandate.until_ms} if self.mandate else {}
        reason = {"state_reason": REASONS[self.state]} if self.state in REASONS else {}
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
            **reason,
            "created_ms": self.created_ms,
            **acts,
        }

    def to_record(self, keys: SecretKeys | None = None) -> bytes:
        """With `keys` its secret is sealed; a mandate is not written in any other way."""
        fields = {each.name: _plain(getattr(self, each.name)) for each in dataclass_fields(self)}
        fields["retry"] = self.retry._asdict()
        if self.mandate is None:
            del fields["mandate"]
        else:
            fields["mandate"] = _sealed_mandate(self, self.mandate, keys)
        if keys is not None:
            fields["sealed_secret"] = keys.seal(self.id, fields.pop("secret"))
        format = MANDATE_FORMAT if self.mandate else SEALED_FORMAT if keys else FORMAT
        return orjson.dumps({"format": format, **fields})


def own_group(id: str, owner: str = "") -> str:
    """The group of a webhook that names none: below its owner's name, so that a rule can allow all of one owner."""
    return f"webhook.{owner}.{id}" if owner else f"webhook.{id}"


def holder_of(wanted: Subscription, others: Iterable[Subscription]) -> Subscription | None:
    """Another subscription that reads as one of the groups that this one wants."""
    return next((each for each in others if each.id != wanted.id and set(each.groups) & set(wanted.groups)), None)


def from_record(value: bytes, keys: SecretKeys | None = None) -> Subscription | None:
    """None for a newer format, or for what somebody else wrote into our topic; CannotOpen for a secret without its key."""
    try:
        fields = orjson.loads(value)
        format, mandate = fields.pop("format"), fields.pop("mandate", None)
        if format in (SEALED_FORMAT, MANDATE_FORMAT):
            fields["secret"] = _opened(fields["id"], fields.pop("sealed_secret"), keys)
        elif format != FORMAT:
            return None
        fields["retry"] = RetryPolicy(**fields["retry"])
        found = Subscription(**{name: _typed(name, each) for name, each in fields.items()})
        return found if mandate is None else replace(found, mandate=_opened_mandate(found, mandate, keys))
    except CannotOpen:
        raise
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def is_plain(value: bytes) -> bool:
    """Whether everybody who may read this record reads its secret."""
    try:
        return bool(orjson.loads(value)["format"] == FORMAT)
    except (ValueError, TypeError, KeyError):
        return False


def _sealed_mandate(subscription: Subscription, mandate: Mandate, keys: SecretKeys | None) -> dict[str, Any]:
    assert keys is not None, "no webhook has a mandate without webhook_keys"
    fields = mandate._asdict()
    return fields | {"token": keys.seal(_use_of(subscription), fields["token"])}


def _opened_mandate(subscription: Subscription, fields: dict[str, Any], keys: SecretKeys | None) -> Mandate:
    return Mandate(**{**fields, "token": _opened(_use_of(subscription), fields["token"], keys)})


def _use_of(subscription: Subscription) -> str:
    """The use that a sealed token is bound to: in a record that sends messages elsewhere it does not open."""
    each = subscription
    return orjson.dumps([each.id, each.callback_url, each.topic, each.group, each.dead_letter_topic]).decode()


def _opened(id: str, sealed: str, keys: SecretKeys | None) -> str:
    if keys is None:
        raise CannotOpen("it is sealed, and there is no webhook_keys")
    return keys.open(id, sealed)


def change_record(name: Change, value: State | Offsets) -> bytes:
    return orjson.dumps({"format": FORMAT, name: _plain(value)})


def mandate_record(subscription: Subscription, mandate: Mandate, keys: SecretKeys | None) -> bytes:
    return orjson.dumps({"format": FORMAT, "mandate": _sealed_mandate(subscription, mandate, keys)})


def changed_by(
    subscription: Subscription, name: str, value: bytes, keys: SecretKeys | None = None
) -> Subscription | None:
    """None for a change that we do not understand; CannotOpen for a mandate without its key."""
    try:
        fields = orjson.loads(value)
        if name not in CHANGES or fields["format"] != FORMAT:
            return None
        after: Any = _typed(name, fields[name])
        if name == "redriven":
            after = _furthest(subscription.redriven, after)
        elif name == "mandate":
            after = _opened_mandate(subscription, after, keys)
        return replace(subscription, **{name: after})
    except CannotOpen:
        raise
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def resealed(before: Subscription, after: Subscription) -> Subscription:
    """A record of a webhook that is there says nothing new but how its secret is kept: what changed since stays."""
    changed = {name: getattr(before, name) for name in CHANGES}
    return replace(after, **changed)


def _furthest(before: Offsets, after: Offsets) -> Offsets:
    """The larger offset of each partition: a slow gateway may write of an earlier redrive."""
    return {each: max(before.get(each, 0), after.get(each, 0)) for each in {**before, **after}}


def _plain(value: Any) -> Any:
    """Offsets by partition have numbers for keys, which JSON has not."""
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else value


def _typed(name: str, value: Any) -> Any:
    return {int(key): each for key, each in value.items()} if name in ("redrive_until", "redriven") else value
