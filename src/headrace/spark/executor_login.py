"""The login of tasks: a scoped token made on the driver, in place of its owner's password.

    auto        where the cluster makes such tokens; else the login of the options, which the log tells
    required    or the query fails
    off         the login of the options

A token is kept for queries that need the same rights, and another one is made at half of its life.
"""

from collections.abc import Sequence
from typing import Protocol

from headrace.spark.clients import Reaching
from headrace.spark.options import EXECUTOR_TOKENS, HiddenOptions

AUTO, REQUIRED, OFF = EXECUTOR_TOKENS
# Of more topics all names are allowed: a token has a bound.
TOPICS_MAX = 100


class Securing(Reaching, Protocol):
    @property
    def executor_token(self) -> str: ...


def executor_security(options: Securing, grants: Sequence[str]) -> HiddenOptions:
    """The security options that tasks are given, which may do no more than `grants` where there is a token."""
    if options.executor_token == OFF or not _has_login(options.security):
        return HiddenOptions(options.security)
    # Loaded when it is needed: every planner that Spark starts would pay for it.
    from headrace.spark.executor_tokens import token_security

    return token_security(options, tuple(grants), is_required=options.executor_token == REQUIRED)


def _has_login(security: Sequence[tuple[str, str]]) -> bool:
    return dict(security).get("security.protocol", "").upper().startswith("SASL")


def reading(topics: Sequence[str], dead_letter_topic: str = "") -> list[str]:
    named = sorted(set(topics))
    read = [f"read topic {topic}" for topic in named] if len(named) <= TOPICS_MAX else ["read topic *"]
    return [*read, f"write topic {dead_letter_topic}"] if dead_letter_topic else read


def writing(topic: str | None, transactional_id_prefix: str = "") -> list[str]:
    """Every topic, if rows name theirs. A transaction keeps its mark as offsets of a group, for which it reads too."""
    name = topic or "*"
    if not transactional_id_prefix:
        return [f"write topic {name}"]
    names = f"{transactional_id_prefix}-*"
    return [f"write topic {name}", f"read topic {name}", f"write transactional-id {names}", f"read group {names}"]
