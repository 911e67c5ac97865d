"""What retention takes from a partition, and what it may not."""

from batches import NOW, batch
from headrace.base.clock import Now
from headrace.broker.upkeep.retention import SEGMENTS_PER_ROUND, forget_old
from headrace.cluster.entities import PartitionState
from partition_rig import PartitionRig

HOUR_MS = 3_600_000


def filled(count: int, state: PartitionState = PartitionState((1,), (1,), 1, 5), **settings: object) -> PartitionRig:
    """Every record in a segment of its own; the last one is the active segment's."""
    rig = PartitionRig(state, **settings)
    for number in range(count):
        if number:
            rig.partition.upkeep.roll(NOW)
        rig.append(batch(b"v" * 1000, timestamp=NOW.wall - HOUR_MS + number), acks=1)
    rig.sync()
    return rig


def later(ms: int) -> Now:
    return Now(NOW.mono + ms / 1000, NOW.wall + ms)


def test_by_time_segment_by_segment() -> None:
    rig = filled(5, retention_ms=HOUR_MS)
    assert forget_old(rig.partition, NOW) == (0, False)
    assert forget_old(rig.partition, later(2)) == (2, False)
    assert rig.partition.log.start_offset == 2


def test_the_active_segment_goes_too_when_all_of_it_is_old() -> None:
    rig = filled(3, retention_ms=HOUR_MS)
    assert forget_old(rig.partition, later(100)) == (3, False)
    assert (rig.partition.log.start_offset, rig.partition.log.end_offset) == (3, 3)
    assert len(rig.partition.log.retire_segments(rig.partition.log.start_offset)) == 3
    assert rig.partition.log.segments.size_bytes == 0
    assert forget_old(rig.partition, later(200)) == (0, False), "an empty one is left"


def test_by_size() -> None:
    rig = filled(5, retention_bytes=2500)
    assert forget_old(rig.partition, NOW) == (2, False)
    assert rig.partition.log.start_offset == 2


def test_what_is_gone_already_counts_for_nothing() -> None:
    rig = filled(5, retention_bytes=2500)
    rig.partition.upkeep.delete_records(3)
    assert forget_old(rig.partition, NOW) == (0, False)


def test_nothing_above_the_watermark_goes() -> None:
    rig = filled(4, PartitionState((1, 2), (1, 2), 1, 5), retention_ms=HOUR_MS)
    assert rig.partition.high_watermark == 0
    assert forget_old(rig.partition, later(100)) == (0, False)


def test_a_round_takes_so_many_and_says_that_there_are_more() -> None:
    rig = filled(SEGMENTS_PER_ROUND + 10, retention_ms=HOUR_MS)
    assert forget_old(rig.partition, later(1000)) == (SEGMENTS_PER_ROUND, True)
    assert forget_old(rig.partition, later(1000)) == (10, False)
    assert rig.partition.log.start_offset == SEGMENTS_PER_ROUND + 10
