"""A producer's first batch that was refused, and those behind it that were on their way."""

import pytest
from batches import NOW, batch
from partition_rig import PartitionRig

from headrace.base.clock import Now
from headrace.base.errors import Refused
from headrace.broker.refused_starts import REMEMBERED_MAX, REMEMBERED_SECONDS, RefusedStarts
from headrace.cluster.entities import PartitionState
from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode

TOO_FEW = PartitionState((1, 2), (1,), 1, 5)
ENOUGH = TOO_FEW._replace(isr=(1, 2), partition_epoch=1)
LATER = Now(NOW.mono + REMEMBERED_SECONDS, NOW.wall)


def sent(sequence: int, epoch: int = 0, producer_id: int = 7) -> bytearray:
    return batch(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)


def refused_first() -> PartitionRig:
    """Its first batch came when there were too few replicas, which is over by now."""
    rig = PartitionRig(TOO_FEW, min_insync_replicas=2)
    assert code_of(rig, sent(0)) is ErrorCode.NOT_ENOUGH_REPLICAS
    rig.partition.note_refused(memoryview(sent(0)), NOW)
    rig.partition.on_state(ENOUGH, NOW)
    return rig


def code_of(rig: PartitionRig, content: bytearray) -> ErrorCode | None:
    try:
        rig.append(content)
    except Refused as refusal:
        return refusal.code  # type: ignore[return-value]
    return None


def test_what_was_behind_it_does_not_take_its_place() -> None:
    rig = refused_first()
    assert code_of(rig, sent(1)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(rig, sent(2)) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert code_of(rig, sent(0)) is None
    assert code_of(rig, sent(1)) is None


def test_others_begin_where_they_like() -> None:
    rig = refused_first()
    assert code_of(rig, sent(5, producer_id=8)) is None


def test_a_new_epoch_is_a_new_start() -> None:
    assert code_of(refused_first(), sent(3, epoch=1)) is None


def test_after_a_moment_it_is_forgotten() -> None:
    rig = refused_first()
    assert rig.partition.append(memoryview(sent(1)), -1, 9, LATER).base_offset == 0


def test_the_earliest_that_was_refused_counts() -> None:
    starts = RefusedStarts()
    for sequence in (2, 0, 4):
        starts.note(parse_header(sent(sequence)), NOW)
    assert starts.is_jump(parse_header(sent(2)), NOW)
    assert not starts.is_jump(parse_header(sent(0)), NOW)


def test_only_so_many_are_remembered() -> None:
    starts = RefusedStarts()
    for producer_id in range(REMEMBERED_MAX + 5):
        starts.note(parse_header(sent(0, producer_id=producer_id)), NOW)
    assert len(starts) == REMEMBERED_MAX


@pytest.mark.parametrize("records", [None, memoryview(b"short"), memoryview(bytes(61))])
def test_what_is_no_batch_is_not_remembered(records: memoryview | None) -> None:
    rig = refused_first()
    rig.partition.note_refused(records, NOW)
    assert code_of(rig, sent(0)) is None
