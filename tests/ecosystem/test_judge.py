"""The judge of this folder finds what was lost, repeated, invented and put out of order."""

from pathlib import Path

from chaos.ledger import Found, Written
from ecosystem import judge

SENT = [Written("a", 0), Written("b", 0), Written("a", 1)]


def found(*records: Written) -> judge.Log:
    return {("sink", 0): [Found(offset, written) for offset, written in enumerate(records)]}


def test_what_was_copied_once_breaks_nothing() -> None:
    assert judge.exactly_once(SENT, found(*SENT)) == []


def test_partitions_are_judged_together() -> None:
    apart = {("sink", 0): [Found(0, SENT[0]), Found(1, SENT[2])], ("sink", 1): [Found(0, SENT[1])]}
    assert judge.exactly_once(SENT, apart) == []


def test_lost() -> None:
    assert len(judge.at_least_once(SENT, found(*SENT[:2]))) == 1


def test_repeated_breaks_exactly_once_only() -> None:
    twice = found(*SENT, SENT[0])
    assert judge.at_least_once(SENT, twice) == []
    assert len(judge.exactly_once(SENT, twice)) == 1


def test_invented() -> None:
    assert len(judge.at_least_once(SENT, found(*SENT, Written("a", 2)))) == 1


def test_disordered() -> None:
    assert len(judge.exactly_once(SENT, found(*reversed(SENT)))) == 1


def test_acknowledgements_are_read_from_lines(tmp_path: Path) -> None:
    acks = tmp_path / "acks"
    acks.write_bytes(b"0 5 a 0\n0 6 b 0\n")
    ledger = judge.acknowledged("sink", acks)
    records = [Found(5, Written("a", 0)), Found(6, Written("b", 1))]
    assert ledger.count == 2
    assert len(ledger.check({("sink", 0): records}, ["a", "b"])) == 1
