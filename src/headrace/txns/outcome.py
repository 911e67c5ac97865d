"""The commands to a core of transactions, and the outcomes of its decisions: `base.outcome`, and two things more.

`prepared` names transactions whose outcome stands once the records are committed: the shell then writes their markers,
and reports back with `on_markers_written`. `resumed` are commands that waited for this decision: the shell hands them
in again after it has applied the records.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.base.outcome import Outcome
from headrace.txns.questions import Question
from headrace.txns.state import Transaction


class TxnRecord(NamedTuple):
    transactional_id: str
    value: Transaction | None


class Command(NamedTuple):
    ticket: int
    question: Question


@dataclass(slots=True)
class TxnOutcome(Outcome[TxnRecord]):
    prepared: list[str] = field(default_factory=list)
    resumed: list[Command] = field(default_factory=list)


def nothing() -> TxnOutcome:
    return TxnOutcome()
