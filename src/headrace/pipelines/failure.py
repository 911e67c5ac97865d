"""Spark's failures in the words of whatever failed: without the stacks of Java and Python around them.

A task that raises is shown by Spark as a Java exception that quotes a Python traceback; what a person needs is its last
line, and our own errors put cause and fix there.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.base.errors import UserError

_OURS = re.compile(r"(?:UserError|LostRecords|DamagedBatch|Overtaken): (?P<cause>[^\n]+)(?:\n(?P<fix>[^\n]+))?")
_PYTHON = re.compile(r"^(?P<cause>[\w.]+(?:Error|Exception|Refused|Disconnected)\b[^\n]*)", re.MULTILINE)


@contextmanager
def in_plain_words() -> Iterator[None]:
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise plain(str(error)) from error


def plain(text: str) -> UserError:
    """The failure in plain words; `text` is what Spark says, stacks and all."""
    ours = _OURS.search(text)
    if ours is not None:
        fix = (ours["fix"] or "").strip()
        return UserError(ours["cause"].strip(), "" if fix.startswith(("at ", "Traceback", "JVM")) else fix)
    python = _PYTHON.findall(text)
    if python:
        return UserError(f"a task failed: {python[-1].strip()}", "HEADRACE_DEBUG=1 shows where")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "Spark failed without a word")
    return UserError(first, "HEADRACE_DEBUG=1 shows where")
