"""The names that slots have at the brokers: everybody's where nobody logs in, else those of one user.

A user's own, since a transaction has one login: the user writes messages and answers, and rules keep other users from both.
"""

import hashlib
import re
from typing import NamedTuple

from headrace.gateway.problem import Problem

_OWN_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_HASHED = "hash-"


class SlotNames(NamedTuple):
    topic: str
    transactional_ids: str
    """The beginning of all of them."""

    def transactional_id(self, slot: int) -> str:
        return f"{self.transactional_ids}{slot}"


EVERYBODYS = SlotNames("_headrace_idempotency", "headrace-rest-")


def names_of(user: str) -> SlotNames:
    """The names of a user, which no other has: one that no topic can have is told by its hash."""
    is_plain = _OWN_NAME.fullmatch(user) and not user.startswith(_HASHED)
    name = user if is_plain else f"{_HASHED}{hashlib.blake2b(user.encode(), digest_size=16).hexdigest()}"
    return SlotNames(f"{EVERYBODYS.topic}.{name}", f"headrace-rest.{name}.")


def not_allowed(user: str, names: SlotNames) -> Problem:
    return Problem(
        403,
        "Not authorized",
        f"with an Idempotency-Key {user} needs a topic and transactional ids of his own for what is remembered",
        f"ask an administrator for: headrace acl allow --user {user} --read --write --create --topic {names.topic}; and: "
        f"headrace acl allow --user {user} --write --txn-id '{names.transactional_ids}*'",
    )
