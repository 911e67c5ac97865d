"""The commands and outcomes of decisions.

The shell appends `records` as one batch, applies each of them, sets the timers, and sends the replies when the high
watermark has reached the end of the log as it was after the append. A ticket is answered once; one that no outcome has
answered yet is parked. When the shell gives up a coordinator it answers the parked tickets itself (see `refusals`).
"""

from typing import Any, NamedTuple

from headrace.base.outcome import Reply, Timer
from headrace.groups.records import Record
from headrace.wire.schema import Response


class Command(NamedTuple):
    ticket: int
    request: Any
    version: int
    client_id: str = ""
    client_host: str = ""
    # The id that this member gets if it turns out to need one: the shell makes it, since chance is not for cores.
    fresh_member_id: str = ""


class Outcome(NamedTuple):
    records: list[Record]
    replies: list[Reply]
    timers: list[Timer]
    producer: tuple[int, int] | None = None
    """(id, epoch) when the records are part of that producer's transaction: they are pending until its marker."""


def nothing() -> Outcome:
    return Outcome([], [], [])


def answered(command: Command, response: Response) -> Outcome:
    return Outcome([], [Reply(command.ticket, response)], [])
