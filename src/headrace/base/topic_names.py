"""Names of topics: which are legal, and which are Headrace's own.

A name is also a folder on disk and part of metric names, hence the strictness.
"""

import re
from typing import Final

LENGTH_MAX: Final = 249
CHARACTER: Final = "[a-zA-Z0-9._-]"
# As expressions: of a field whose length is checked beside it, and with the length.
PATTERN: Final = f"^{CHARACTER}+$"
WHOLE_PATTERN: Final = f"{CHARACTER}{{1,{LENGTH_MAX}}}"
RULE: Final = f"use 1 to {LENGTH_MAX} letters, digits, dots, dashes and underscores"
# Topics of ours: a record written there by hand breaks a promise.
RESERVED: Final = ("_headrace_", "__")

_LEGAL: Final = re.compile(f"{CHARACTER}+")


def topic_name_problem(name: str) -> str:
    """Why no topic can be called so; empty for a legal name."""
    if not name:
        return "a topic name cannot be empty"
    if name in (".", ".."):
        return f"a topic cannot be called {name!r}"
    if len(name) > LENGTH_MAX:
        return f"a topic name has at most {LENGTH_MAX} characters, this one has {len(name)}"
    if not _LEGAL.fullmatch(name):
        return f"a topic name has only letters a-z and A-Z, digits, '.', '_' and '-'; {name!r} has others"
    return ""


def is_reserved(name: str) -> bool:
    return name.startswith(RESERVED)
