"""Cutting at either end."""

import pytest
from logs import NOW, PATH, Rig, batch, header, verdict

from headrace.log import Duplicate


@pytest.mark.parametrize("count", range(26))
def test_truncation_keeps_what_is_below(count: int) -> None:
    rig = Rig()
    batches = rig.fill(25, timestamps=[NOW.wall + 5])
    rig.log.truncate_to(count, NOW)
    assert rig.log.end_offset == count
    assert rig.contents() == batches[:count]
    assert rig.log.reader.max_timestamp(rig.log.start_offset) == ((NOW.wall + 5, 0) if count else (-1, -1))
    more = rig.fill(20)
    assert rig.contents() == batches[:count] + more
    assert rig.log.sync.truncations == (1 if count < 25 else 0)


def test_a_batch_that_straddles_the_cut_goes_whole() -> None:
    rig = Rig()
    rig.append(batch(0, 5))
    rig.append(batch(5, 5))
    rig.log.truncate_to(7, NOW)
    assert rig.log.end_offset == 5


def test_truncation_survives_a_restart() -> None:
    for clean in (True, False):
        rig = Rig()
        batches = rig.fill(25)
        rig.log.truncate_to(14, NOW)
        if clean:
            rig.close_clean()
        rig.open(recovery_point=14 if clean else 0, clean=clean)
        assert rig.contents() == batches[:14]


def test_truncation_takes_producers_back() -> None:
    rig = Rig()
    for sequence in range(25):
        rig.append(batch(sequence, producer=(7, 0, sequence)))
    rig.append(batch(25, producer=(8, 0, 0)))
    rig.log.truncate_to(12, NOW)
    assert verdict(rig.log, header(batch(12, producer=(7, 0, 12)))) is None
    for sequence in range(7, 12):
        resent = header(batch(0, producer=(7, 0, sequence)))
        assert verdict(rig.log, resent) == Duplicate(sequence, sequence + 1, NOW.wall)
    assert verdict(rig.log, header(batch(12, producer=(8, 0, 40)))) is None


def test_truncating_everything_restarts_at_the_offset() -> None:
    rig = Rig()
    rig.fill(25, producer=(-1, -1, -1), epoch=4)
    rig.log.truncate_fully_to(100, NOW)
    log = rig.log
    assert (log.start_offset, log.end_offset, len(log.segments.all), log.state.epochs.latest) == (100, 100, 1, -1)
    for path in log.retire_segments(log.start_offset):
        rig.disk.unlink(path)
    assert rig.names() == ["00000000000000000100.log"]
    rig.fill(2)
    assert len(rig.contents()) == 2


def test_truncating_below_the_first_segment_restarts_there() -> None:
    rig = Rig()
    rig.log.truncate_fully_to(100, NOW)
    rig.fill(3)
    rig.log.truncate_to(40, NOW)
    assert (rig.log.start_offset, rig.log.end_offset) == (40, 40)


def test_the_start_only_goes_forward() -> None:
    rig = Rig()
    rig.fill(25)
    assert rig.log.advance_start(9) == 9
    assert rig.log.advance_start(3) == 9
    with pytest.raises(AssertionError):
        rig.log.advance_start(26)


def test_segments_below_the_start_are_retired() -> None:
    rig = Rig()
    rig.fill(25)
    bases = [segment.base_offset for segment in rig.log.segments.all]
    rig.log.advance_start(bases[1] - 1)
    assert rig.log.retire_segments(rig.log.start_offset) == []
    rig.log.advance_start(bases[1])
    assert rig.log.retire_segments(rig.log.start_offset) == [f"{PATH}/{0:020d}.log.deleted"]
    assert rig.log.retire_segments(rig.log.start_offset) == []
    assert [segment.base_offset for segment in rig.log.segments.all] == bases[1:]
    assert not any(name.startswith(f"{0:020d}.index") for name in rig.names())


def test_the_last_segment_goes_only_after_a_roll() -> None:
    rig = Rig()
    rig.fill(5)
    rig.log.advance_start(5)
    assert rig.log.retire_segments(rig.log.start_offset) == []
    rig.log.roll(NOW)
    assert len(rig.log.retire_segments(rig.log.start_offset)) == 1
    assert (len(rig.log.segments.all), rig.log.segments.size_bytes, rig.log.end_offset) == (1, 0, 5)


def test_only_snapshots_that_may_be_needed_stay() -> None:
    rig = Rig()
    for _ in range(4):
        rig.fill(1)
        rig.log.roll(NOW)
    rig.sync()
    rig.log.snapshots.prune(3, rig.log.start_offset)
    kept = [name for name in rig.names() if name.endswith(".snapshot")]
    assert kept == [f"{offset:020d}.snapshot" for offset in (1, 2, 3, 4)]
