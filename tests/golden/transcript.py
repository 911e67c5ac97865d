"""Transcripts: commands to a core, and what it did, as a reviewer reads them.

    # A comment, kept as it is.
    append acks=all records=2 as=first
    ----
    first: offsets 0 to 1, waits
    start 0, watermark 0, synced 0, end 2

A world is any object whose methods are the commands; each takes its words as keyword arguments, or by position where they
have no name, and returns the lines to expect.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

RULE = "----"


class Step(NamedTuple):
    head: list[str]
    """Comments and blank lines before the command."""
    command: str
    expected: list[str]


def parse(text: str) -> Iterator[Step]:
    lines = iter(text.splitlines())
    head: list[str] = []
    for line in lines:
        if not line.strip() or line.startswith("#"):
            head.append(line)
            continue
        assert next(lines, "") == RULE, f"{RULE} is missing below {line!r}"
        yield Step(head, line, list(iter(lambda: next(lines, ""), "")))
        head = [""]


def play(world: object, steps: Iterable[Step]) -> str:
    """The transcript as it is today."""
    written: list[str] = []
    for step in steps:
        name, *words = step.command.split()
        method = getattr(world, name.replace("-", "_"))
        places = [word for word in words if "=" not in word]
        named = dict(word.split("=", 1) for word in words if "=" in word)
        said = method(*places, **{key.replace("-", "_"): value for key, value in named.items()})
        written += [*step.head, step.command, RULE, *said]
    return "\n".join(written) + "\n"
