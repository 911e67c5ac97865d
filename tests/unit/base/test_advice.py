"""Advice for Kafka's error codes: every entry belongs to a code, and a code without an entry has no advice."""

from headrace.base.advice import _ADVICE, advice
from headrace.wire.codes import ErrorCode, advice_for


def test_every_advice_belongs_to_a_code() -> None:
    assert _ADVICE.keys() <= ErrorCode.__members__.keys()


def test_advice_is_found_by_name_and_by_number() -> None:
    assert advice("NON_EMPTY_GROUP") == advice_for(ErrorCode.NON_EMPTY_GROUP) == "stop its members first"
    assert advice_for(ErrorCode.NONE) == advice_for(-195) == ""
