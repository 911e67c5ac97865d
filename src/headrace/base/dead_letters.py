"""Headers of a dead letter: why a record was of no use to somebody, and where it lay. Pure.

Webhooks, Spark queries and the job `clean` write the same names, so one reader understands all of them. The last two had
names of their own before, and write those beside them.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

PREFIX: Final = "headrace-dead-letter-"
REASON: Final = f"{PREFIX}reason"
TOPIC: Final = f"{PREFIX}topic"
PARTITION: Final = f"{PREFIX}partition"
OFFSET: Final = f"{PREFIX}offset"
TIMESTAMP: Final = f"{PREFIX}timestamp"

_FORMER: Final = "headrace."
SPARK_REASON: Final = f"{_FORMER}reason"
CLEAN_REASON: Final = f"{_FORMER}error"

Headers = list[tuple[str, bytes]]


class Origin(NamedTuple):
    topic: str
    partition: int
    offset: int
    timestamp: int


def dead_letter_headers(origin: Origin, reason: str, more: Mapping[str, str] | None = None) -> Headers:
    """`more` are headers of the writer's own, by their names without the prefix."""
    told = {REASON: reason} | {f"{PREFIX}{name}": text for name, text in (more or {}).items()}
    told |= {TOPIC: origin.topic, PARTITION: str(origin.partition), OFFSET: str(origin.offset)}
    return _encoded(told | {TIMESTAMP: str(origin.timestamp)})


def former_headers(origin: Origin, reason: str, reason_name: str) -> Headers:
    """The names from before, of a query (SPARK_REASON) or of `clean` (CLEAN_REASON)."""
    told = {"topic": origin.topic, "partition": str(origin.partition), "offset": str(origin.offset)}
    return _encoded({reason_name: reason} | {f"{_FORMER}{name}": text for name, text in told.items()})


def origin_of(headers: Mapping[str, str]) -> Origin | None:
    """The origin that `dead_letter_headers` wrote; None if these headers do not name it."""
    try:
        return Origin(headers[TOPIC], int(headers[PARTITION]), int(headers[OFFSET]), int(headers[TIMESTAMP]))
    except (KeyError, ValueError):
        return None


def own_headers(headers: Iterable[tuple[str, bytes | None]]) -> list[tuple[str, bytes | None]]:
    """The headers that the record had before it was a dead letter."""
    return [(name, text) for name, text in headers if not name.startswith(PREFIX)]


def _encoded(told: Mapping[str, str]) -> Headers:
    return [(name, text.encode()) for name, text in told.items()]
