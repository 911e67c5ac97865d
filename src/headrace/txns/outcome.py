"""The commands and outcomes of decisions; as `groups.outcome`, and two things more.

`prepared` names transactions whose outcome stands once the records are committed: the shell then writes their markers,
and reports back with `on_markers_written`. `resumed` are commands that waited for this decision: the shell hands them
in again after it has applied the records.
"""

from typing import NamedTuple

from headrace.base.outcome import Reply, Timer
from headrace.txns.questions import Question
from headrace.txns.state import Transaction


class TxnRecord(NamedTuple):
    transactional_id: str
    value: Transaction | None


class Command(NamedTuple):
    ticket: int
    question: Question


class Outcome(NamedTuple):
    records: list[TxnRecord]
    replies: list[Reply]
    timers: list[Timer]
    prepared: list[str]
    resumed: list[Command]


def nothing() -> Outcome:
    return Outcome([], [], [], [], [])
