"""The invariants that a log states: a caller that breaks one is stopped before anything is written."""

import pytest
from logs import NOW, Rig, batch, header

from headrace.log.segment import Segment
from headrace.log.segments import LogSegments


def test_offsets_only_rise() -> None:
    rig = Rig()
    rig.append(batch(5))
    before = rig.contents()
    with pytest.raises(AssertionError):
        rig.append(batch(4))
    with pytest.raises(AssertionError):
        rig.append(batch(8), batch(7))
    assert rig.contents() == before


def test_epochs_do_not_fall() -> None:
    rig = Rig()
    rig.append(batch(0, epoch=3))
    before = rig.contents()
    with pytest.raises(AssertionError):
        rig.append(batch(1, epoch=2))
    with pytest.raises(AssertionError):
        rig.append(batch(1, epoch=4), batch(2, epoch=3))
    assert rig.contents() == before


def test_the_headers_are_of_all_the_bytes() -> None:
    rig = Rig()
    content = batch(0)
    with pytest.raises(AssertionError):
        rig.log.append(content + b"more", [header(content)], NOW)
    assert rig.log.end_offset == 0


def test_no_start_is_past_the_end() -> None:
    rig = Rig()
    rig.fill(3)
    with pytest.raises(AssertionError):
        rig.log.advance_start(4)


def test_a_sync_proves_nothing_past_the_end() -> None:
    rig = Rig()
    rig.fill(2)
    rig.log.sync.synced_end = 3
    with pytest.raises(AssertionError):
        rig.log.begin_sync()


def test_segments_follow_each_other() -> None:
    rig = Rig()
    made = [Segment(rig.pool, f"/data/{base}", base, 0, end, 100) for base, end in ((0, 5), (5, 7), (9, 9))]
    segments = LogSegments(rig.pool, "/data", rig.log.sync)
    segments.take_up(made)
    with pytest.raises(AssertionError):
        segments.take_up([made[1], made[0]])
    with pytest.raises(AssertionError):
        segments.begin_at(8, 100)
