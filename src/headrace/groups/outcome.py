"""The commands to a core of groups, and the outcomes of its decisions: `base.outcome`, and one thing more.

A ticket is answered once; one that no outcome has answered yet is parked. When the shell gives up a coordinator it answers
the parked tickets itself (see `refusals`).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

from headrace.base.outcome import Outcome, Reply
from headrace.groups.records import Record
from headrace.groups.topics import Sight, all_in_sight
from headrace.wire.schema import Response


class Command(NamedTuple):
    ticket: int
    request: Any
    version: int
    client_id: str = ""
    client_host: str = ""
    # The id that this member gets if it turns out to need one: the shell makes it, since chance is not for cores.
    fresh_member_id: str = ""
    # What of the cluster's topics its sender may know of.
    sight: Sight = all_in_sight


@dataclass(slots=True)
class GroupOutcome(Outcome[Record]):
    producer: tuple[int, int] | None = None
    """(id, epoch) when the records are part of that producer's transaction: they are pending until its marker."""


def nothing() -> GroupOutcome:
    return GroupOutcome()


def answered(command: Command, response: Response) -> GroupOutcome:
    return GroupOutcome(replies=[Reply(command.ticket, response)])
