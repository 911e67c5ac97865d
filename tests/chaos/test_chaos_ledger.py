"""The judge is judged first: a ledger that notices nothing would pass every broker."""

import pytest

from chaos.ledger import Found, Ledger, Written

PLACE = ("orders", 0)


def ledger_of(*numbers: int, producer: str = "a") -> Ledger:
    ledger = Ledger()
    for offset, number in enumerate(numbers):
        ledger.acknowledge(PLACE, offset, Written(producer, number))
    return ledger


def found(*numbers: int, producer: str = "a", first: int = 0) -> dict:
    return {PLACE: [Found(first + place, Written(producer, number)) for place, number in enumerate(numbers)]}


def test_what_was_acknowledged_and_is_there_is_fine() -> None:
    assert ledger_of(0, 1, 2).check(found(0, 1, 2, 3), idempotent=["a"]) == []


@pytest.mark.parametrize(
    "records", [found(0, 1), found(0, 1, 3), {}, found(0, 1, 2, producer="b")], ids=["end", "other", "all", "another's"]
)
def test_a_lost_record_is_noticed(records: dict) -> None:
    assert ledger_of(0, 1, 2).check(records, idempotent=[])


def test_a_record_that_was_acknowledged_without_an_offset_may_be_anywhere() -> None:
    ledger = Ledger()
    ledger.acknowledge(PLACE, None, Written("a", 1))
    assert ledger.check(found(0, 1), idempotent=["a"]) == []
    assert ledger.check(found(0, 2), idempotent=["a"])


def test_an_offset_that_was_given_twice_is_noticed() -> None:
    ledger = ledger_of(0, 1)
    ledger.acknowledge(PLACE, 1, Written("b", 0))
    assert "was given to" in ledger.check(found(0, 1), idempotent=[])[0]


def test_a_gap_in_offsets_is_noticed() -> None:
    records = {PLACE: [Found(0, Written("a", 0)), Found(2, Written("a", 1))]}
    assert "after offset 0 comes 2" in Ledger().check(records, idempotent=[])[0]


def test_a_duplicate_is_noticed_for_an_idempotent_producer_only() -> None:
    assert Ledger().check(found(0, 1, 1, 2), idempotent=["a"])
    assert not Ledger().check(found(0, 1, 1, 2), idempotent=[])


def test_disorder_is_noticed_for_every_producer() -> None:
    assert Ledger().check(found(0, 2, 1), idempotent=["a"])
    assert Ledger().check(found(0, 2, 1), idempotent=[])


def test_where_leaders_change_a_plain_producer_may_come_out_of_order() -> None:
    assert Ledger().check(found(0, 2, 1), idempotent=["a"], one_leader=False)
    assert not Ledger().check(found(0, 2, 1), idempotent=[], one_leader=False)


def test_a_value_says_who_wrote_it() -> None:
    assert Written.decode(Written("a-1", 42).encode()) == Written("a-1", 42)
