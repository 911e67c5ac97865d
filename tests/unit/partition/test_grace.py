"""A batch whose predecessors may still be on their way to the broker that led before."""

import pytest

from batches import NOW, batch
from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.partition.grace import KNOWN_MAX, MOMENT_SECONDS, NEW_SECONDS, Grace
from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode
from partition_rig import ALONE, FIRST, PartitionRig

AGAIN = ErrorCode.NOT_ENOUGH_REPLICAS
GAP = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
LATER = Now(NOW.mono + MOMENT_SECONDS, NOW.wall)
JUST_BEFORE = Now(LATER.mono - 0.01, NOW.wall)
ADDS, BEFORE = 12, 11


class Rig(PartitionRig):
    def code_of(self, sequence: int, now: Now = NOW, epoch: int = 0, version: int = BEFORE, **more: bool) -> int | None:
        content = batch(producer_id=7, producer_epoch=epoch, base_sequence=sequence, **more)
        try:
            self.partition.appends.append(memoryview(content), -1, version, now)
        except Refused as refusal:
            return refusal.code
        return None


@pytest.fixture
def rig() -> Rig:
    """Led by another before; producer 7 has written one batch, and it was acknowledged."""
    made = Rig(ALONE)
    made.append(batch(producer_id=7, producer_epoch=0, base_sequence=0))
    made.sync()
    return made


def test_it_is_to_come_again_behind_them(rig: Rig) -> None:
    assert [rig.code_of(2), rig.code_of(3)] == [AGAIN, AGAIN]
    assert [rig.code_of(1), rig.code_of(2), rig.code_of(3)] == [None, None, None]


def test_after_a_moment_it_is_a_gap(rig: Rig) -> None:
    assert rig.code_of(2) == AGAIN
    assert rig.code_of(2, JUST_BEFORE) == AGAIN
    assert rig.code_of(2, LATER) == GAP


def test_the_moment_begins_when_the_batch_before_is_acknowledged(rig: Rig) -> None:
    """Answers come in order: until then the producer cannot know that anything has to come again."""
    later_still = Now(LATER.mono + MOMENT_SECONDS, NOW.wall)
    assert [rig.code_of(1), rig.code_of(3)] == [None, AGAIN]
    assert rig.code_of(4, LATER) == AGAIN
    rig.sync()
    assert rig.code_of(5, LATER) == AGAIN
    assert rig.code_of(5, later_still) == GAP


def test_a_moment_that_was_held_back_ends_with_the_new_leadership(rig: Rig) -> None:
    much_later = Now(NOW.mono + NEW_SECONDS, NOW.wall)
    assert [rig.code_of(1), rig.code_of(3), rig.code_of(3, much_later)] == [None, AGAIN, GAP]


def test_the_next_gap_has_a_moment_of_its_own(rig: Rig) -> None:
    assert [rig.code_of(2), rig.code_of(1), rig.code_of(2)] == [AGAIN, None, None]
    assert rig.code_of(4, LATER) == AGAIN


def test_so_has_another_epoch(rig: Rig) -> None:
    assert rig.code_of(2) == AGAIN
    assert rig.code_of(1, LATER, epoch=1) == AGAIN


def test_the_producer_may_be_unknown_here() -> None:
    """Its first batch must not lose its place to the second."""
    rig = Rig(ALONE)
    assert [rig.code_of(1), rig.code_of(0), rig.code_of(1)] == [AGAIN, None, None]


def test_one_that_was_forgotten_goes_on_after_a_moment() -> None:
    rig = Rig(ALONE)
    assert [rig.code_of(5), rig.code_of(5, LATER)] == [AGAIN, None]


def test_a_transaction_does_not_begin_in_the_middle() -> None:
    rig = Rig(ALONE)
    assert rig.code_of(5, version=ADDS, transactional=True) == AGAIN
    assert rig.code_of(5, LATER, version=ADDS, transactional=True) == GAP
    assert Rig(FIRST).code_of(5, version=ADDS, transactional=True) == GAP


def test_a_resend_is_a_resend(rig: Rig) -> None:
    assert rig.code_of(0) is None


def test_where_nobody_led_before_a_gap_is_a_gap() -> None:
    rig = Rig(FIRST)
    assert [rig.code_of(0), rig.code_of(2)] == [None, GAP]
    assert Rig(FIRST).code_of(5) is None


def test_a_new_leadership_knows_of_none(rig: Rig) -> None:
    assert rig.code_of(2) == AGAIN
    rig.partition.on_state(ALONE._replace(leader_epoch=6), NOW)
    assert rig.code_of(2, LATER) == AGAIN


def test_a_leader_is_new_for_a_while_only(rig: Rig) -> None:
    much_later = Now(NOW.mono + NEW_SECONDS, NOW.wall)
    assert rig.code_of(2, much_later) == GAP
    assert Rig(ALONE).code_of(5, much_later) is None


def test_many_producers_with_gaps_are_not_all_remembered_and_nobody_waits_for_ever() -> None:
    gaps = Grace()
    headers = [parse_header(batch(producer_id=each, base_sequence=5)) for each in range(KNOWN_MAX + 10)]
    for header in headers[:KNOWN_MAX]:
        with pytest.raises(Refused):
            gaps.excuse(header, False, NOW)
    for header in headers[KNOWN_MAX:]:
        gaps.excuse(header, False, NOW)
    assert len(gaps) == KNOWN_MAX
    for header in headers:
        gaps.excuse(header, False, LATER)
