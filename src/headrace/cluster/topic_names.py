"""The rule for topic names. A name is also a folder on disk and part of metric names, hence the strictness."""

import re
from collections.abc import Iterable
from typing import Final

from headrace.base.errors import Refused
from headrace.wire.codes import ErrorCode

NAME_LENGTH_MAX: Final = 249
_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    problem = _problem(name)
    if problem:
        raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)


def _problem(name: str) -> str:
    if not name:
        return "a topic name cannot be empty"
    if name in (".", ".."):
        return f"a topic cannot be called {name!r}"
    if len(name) > NAME_LENGTH_MAX:
        return f"a topic name has at most {NAME_LENGTH_MAX} characters, this one has {len(name)}"
    if not _LEGAL.fullmatch(name):
        return f"a topic name has only letters a-z and A-Z, digits, '.', '_' and '-'; {name!r} has others"
    return ""


def check_no_clash(name: str, existing: Iterable[str]) -> None:
    """Refuses a name that differs from another only in '.' and '_', which are the same in metric names."""
    if "." not in name and "_" not in name:
        return
    flat, length = name.replace(".", "_"), len(name)
    for other in existing:
        if len(other) == length and other.replace(".", "_") == flat and other != name:
            raise Refused(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"topic {name} would clash with {other}: '.' and '_' are the same in metric names",
            )
