"""A producer's batch that was refused, and those behind it that were on their way."""

import pytest

from batches import NOW, batch
from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.partition.refusals import KEPT_SECONDS, REMEMBERED_MAX, REMEMBERED_SECONDS, RefusedBatches
from headrace.wire.codes import ErrorCode
from partition_rig import FIRST, PartitionRig

AGAIN = ErrorCode.NOT_ENOUGH_REPLICAS
GAP = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
LATER = Now(NOW.mono + REMEMBERED_SECONDS, NOW.wall)
JUST_BEFORE = Now(LATER.mono - 0.01, NOW.wall)
PLACE = ("orders", 0)


def sent(sequence: int, epoch: int = 0, producer_id: int = 7) -> bytearray:
    return batch(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


class Rig:
    """A partition with the batches of producer 7 in it, up to the one that is refused."""

    def __init__(self, refused: int, code: int = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        self.partition = PartitionRig(FIRST)
        self.refused = RefusedBatches()
        for sequence in range(refused):
            self.partition.append(sent(sequence))
        self.partition.sync()
        self.note(sent(refused), code)

    def note(self, content: bytearray, code: int = ErrorCode.NOT_LEADER_OR_FOLLOWER, now: Now = NOW) -> None:
        self.refused.note(PLACE, memoryview(content), code, self.partition.partition, now)

    def code_of(self, content: bytearray, now: Now = NOW) -> int | None:
        try:
            self.refused.check(PLACE, memoryview(content), self.partition.partition, now)
            self.partition.append(content)
        except Refused as refusal:
            return refusal.code
        return None


@pytest.mark.parametrize("refused", [0, 3])
def test_what_was_behind_it_is_to_come_again_behind_it(refused: int) -> None:
    rig = Rig(refused)
    assert rig.code_of(sent(refused + 1)) == AGAIN
    assert rig.code_of(sent(refused + 2)) == AGAIN
    assert rig.code_of(sent(refused)) is None
    assert rig.code_of(sent(refused + 1)) is None


@pytest.mark.parametrize("refused", [0, 3])
def test_what_cannot_come_again_leaves_a_gap(refused: int) -> None:
    rig = Rig(refused, ErrorCode.MESSAGE_TOO_LARGE)
    assert rig.code_of(sent(refused + 1)) == GAP


def test_what_is_in_the_log_already_is_acknowledged_again() -> None:
    rig = Rig(3)
    rig.partition.append(sent(3))
    rig.partition.append(sent(4))
    assert rig.code_of(sent(4)) is None
    assert rig.code_of(sent(2)) is None


def test_others_begin_where_they_like() -> None:
    assert Rig(0).code_of(sent(5, producer_id=8)) is None


def test_the_same_producer_elsewhere_is_another_matter() -> None:
    rig = Rig(0)
    rig.refused.check(("orders", 1), memoryview(sent(1)), rig.partition.partition, NOW)


def test_the_first_batch_of_a_new_epoch() -> None:
    """Each transaction may have one: behind a first batch that was refused the rest is no gap."""
    rig = Rig(3)
    rig.note(sent(0, epoch=1))
    assert rig.code_of(sent(1, epoch=1)) == AGAIN
    assert rig.code_of(sent(0, epoch=1)) is None
    assert rig.code_of(sent(1, epoch=1)) is None


def test_two_epochs_are_told_apart() -> None:
    """A producer that was thought to be dead, and the one in its place."""
    rig = Rig(3)
    rig.note(sent(0, epoch=1))
    assert rig.code_of(sent(4)) == AGAIN
    assert rig.code_of(sent(1, epoch=1)) == AGAIN


def test_a_new_epoch_is_a_new_start() -> None:
    assert Rig(0).code_of(sent(3, epoch=1)) is None


def test_after_a_moment_it_is_forgotten() -> None:
    rig = Rig(0)
    assert rig.code_of(sent(1), LATER) is None
    known = Rig(3)
    assert known.code_of(sent(4), LATER) == GAP
    assert known.code_of(sent(4), Now(LATER.mono + KEPT_SECONDS, NOW.wall)) == GAP
    assert len(known.refused) == 0


@pytest.mark.parametrize("refused", [0, 3])
def test_each_time_it_is_refused_the_moment_begins_anew(refused: int) -> None:
    """Its leader may take a second to know what it leads; the batches behind it come each time too."""
    rig = Rig(refused)
    rig.note(sent(refused), now=JUST_BEFORE)
    assert rig.code_of(sent(refused + 1), LATER) == AGAIN


def test_what_is_refused_behind_it_makes_room_for_the_next_one_once() -> None:
    """It may have waited for its coordinator. But a producer that gave up the first must be heard some day."""
    rig = Rig(3)
    rig.note(sent(4), now=JUST_BEFORE)
    assert rig.code_of(sent(5), LATER) == AGAIN
    rig.note(sent(4), now=LATER)
    over = Now(JUST_BEFORE.mono + REMEMBERED_SECONDS, NOW.wall)
    assert rig.code_of(sent(4), over) == GAP


def test_the_moment_begins_when_the_batch_before_is_acknowledged() -> None:
    """Answers come in order: until then the producer cannot know that anything has to come again."""
    rig = Rig(0)
    assert rig.code_of(sent(0)) is None
    rig.note(sent(1))
    assert rig.code_of(sent(2), LATER) == AGAIN
    rig.partition.sync()
    assert rig.code_of(sent(3), LATER) == AGAIN
    assert rig.code_of(sent(3), Now(LATER.mono + REMEMBERED_SECONDS, NOW.wall)) == GAP


def test_the_next_that_comes_begins_a_moment_that_was_held_back() -> None:
    rig = Rig(0)
    assert rig.code_of(sent(0)) is None
    rig.note(sent(1))
    rig.partition.sync()
    assert [rig.code_of(sent(2), LATER), rig.code_of(sent(1), LATER), rig.code_of(sent(2), LATER)] == [
        AGAIN,
        None,
        None,
    ]


def test_an_answer_that_is_never_given_holds_nobody_back_for_ever() -> None:
    rig = Rig(0)
    assert rig.code_of(sent(0)) is None
    rig.note(sent(1))
    assert rig.code_of(sent(2), Now(LATER.mono + KEPT_SECONDS, NOW.wall)) == GAP


def test_once_it_has_come_it_is_forgotten() -> None:
    rig = Rig(3)
    rig.note(sent(4))
    assert rig.code_of(sent(3)) is None
    assert len(rig.refused) == 0
    assert rig.code_of(sent(4)) is None


def test_who_came_in_time_may_have_waited_since() -> None:
    rig = Rig(3)
    rig.note(sent(0, producer_id=8), now=Now(LATER.mono + KEPT_SECONDS / 2, NOW.wall))
    assert rig.code_of(sent(4), JUST_BEFORE) == AGAIN


def test_the_earliest_that_was_refused_counts() -> None:
    rig = Rig(2)
    rig.note(sent(1))
    rig.note(sent(4))
    fresh = PartitionRig().partition
    with pytest.raises(Refused):
        rig.refused.check(PLACE, memoryview(sent(2)), fresh, NOW)
    rig.refused.check(PLACE, memoryview(sent(1)), fresh, NOW)


def test_only_so_many_are_remembered() -> None:
    rig = Rig(0)
    for producer_id in range(REMEMBERED_MAX + 5):
        rig.note(sent(0, producer_id=producer_id))
    assert len(rig.refused) == REMEMBERED_MAX


@pytest.mark.parametrize("records", [None, memoryview(b"short"), memoryview(bytes(61))])
def test_what_is_no_batch_is_not_remembered(records: memoryview | None) -> None:
    rig = Rig(0)
    rig.refused.note(PLACE, records, AGAIN, None, NOW)
    assert len(rig.refused) == 1
    rig.refused.check(PLACE, records, rig.partition.partition, NOW)
