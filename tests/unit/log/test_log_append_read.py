"""Appending and reading: whole batches, bounds, rolls."""

import pytest
from logs import NOW, PATH, SMALL, Rig, batch, header, later, verdict

from headrace.base.errors import DiskFull
from headrace.log import LogConfig

ONE = len(batch())


def test_a_new_log_is_empty() -> None:
    log = Rig().log
    assert (log.start_offset, log.end_offset, len(log.segments.all), log.segments.size_bytes) == (0, 0, 1, 0)
    assert log.reader.read(0, 100, 0) is None
    assert log.state.epochs.latest == -1


def test_a_new_log_can_start_anywhere() -> None:
    rig = Rig()
    rig.machine.root.entries.clear()
    log = rig.open(recovery_point=0, start_offset=500)
    assert (log.start_offset, log.end_offset) == (500, 500)
    assert rig.names() == ["00000000000000000500.log"]


def test_what_was_appended_is_read_back() -> None:
    rig = Rig()
    batches = [batch(0, 3), batch(3), batch(4, 2)]
    rig.append(batches[0])
    rig.append(*batches[1:])
    assert rig.log.end_offset == 6
    assert rig.contents() == batches


def test_an_offset_inside_a_batch_gets_the_whole_batch() -> None:
    rig = Rig()
    first, second = batch(0, 10), batch(10, 10)
    rig.append(first)
    rig.append(second)
    assert rig.read(7, 1) == first
    assert rig.read(10, 1) == second
    assert rig.read(19, 1) == second
    assert rig.read(20) is None


def test_an_offset_in_a_gap_gets_the_next_batch() -> None:
    rig = Rig()
    rig.append(batch(0), batch(50))
    assert rig.read(1) == batch(50)
    assert rig.log.end_offset == 51


def test_nothing_is_read_past_the_bound() -> None:
    rig = Rig(LogConfig())
    batches = rig.fill(5)
    assert rig.read(0, end_offset=3) == b"".join(batches[:3])
    assert rig.read(2, end_offset=3) == batches[2]
    assert rig.read(3, end_offset=3) is None
    assert rig.read(0, end_offset=99) == b"".join(batches)


def test_max_bytes_cuts_at_a_batch() -> None:
    rig = Rig(LogConfig())
    batches = rig.fill(5)
    assert rig.read(0, 3 * ONE) == b"".join(batches[:3])
    assert rig.read(0, 3 * ONE - 1) == b"".join(batches[:2])


def test_the_first_batch_comes_whole_or_not_at_all() -> None:
    rig = Rig()
    batches = rig.fill(2)
    assert rig.read(0, 10) == batches[0]
    assert rig.read(0, 10, at_least_one=False) is None
    assert rig.read(0, ONE, at_least_one=False) == batches[0]


def test_a_read_ends_with_its_segment() -> None:
    rig = Rig()
    rig.fill(10)
    rig.log.roll(NOW)
    last = rig.fill(1)
    found = rig.log.reader.read(8, 1 << 20, 11)
    assert found is not None
    assert found.next_offset == 10
    found.release()
    assert rig.read(10) == last[0]


def test_an_empty_last_segment_reads_as_nothing() -> None:
    rig = Rig()
    rig.fill(2)
    rig.log.roll(NOW)
    assert rig.read(2) is None
    assert rig.read(1) is not None


def test_a_range_stays_readable_after_its_segment_is_retired() -> None:
    rig = Rig()
    rig.fill(3)
    found = rig.log.reader.read(0, 1 << 20, 3)
    assert found is not None
    before = found.read()
    rig.log.roll(NOW)
    rig.log.advance_start(3)
    for path in rig.log.retire_segments(rig.log.start_offset):
        rig.disk.unlink(path)
    assert found.read() == before
    found.release()


def test_rolls_by_size() -> None:
    rig = Rig()
    rig.fill(25)
    assert len(rig.log.segments.all) == 3
    assert all(segment.size <= SMALL.segment_bytes for segment in rig.log.segments.all)
    assert len(rig.contents()) == 25


def test_rolls_by_time_since_the_first_batch() -> None:
    rig = Rig(LogConfig(segment_ms=1000))
    rig.append(batch(0))
    rig.append(batch(1), now=later(1000))
    assert len(rig.log.segments.all) == 1
    rig.append(batch(2), now=later(1001))
    assert len(rig.log.segments.all) == 2
    rig.append(batch(3), now=later(2001))
    assert len(rig.log.segments.all) == 2


def test_rolls_when_the_index_is_full() -> None:
    rig = Rig(LogConfig(index_interval_bytes=1, segment_index_bytes=16))
    rig.fill(4)
    assert [segment.base_offset for segment in rig.log.segments.all] == [0, 3]


def test_rolls_before_a_relative_offset_overflows() -> None:
    rig = Rig(LogConfig())
    rig.append(batch(0))
    rig.append(batch(1 << 30))
    rig.append(batch((1 << 31) + 5))
    assert [segment.base_offset for segment in rig.log.segments.all] == [0, (1 << 30) + 1]
    assert rig.read((1 << 30) + 5) == batch((1 << 31) + 5)


def test_a_changed_config_holds_from_the_next_append() -> None:
    rig = Rig()
    rig.fill(2)
    rig.log.config = LogConfig(segment_bytes=ONE)
    rig.fill(2)
    assert len(rig.log.segments.all) == 3


def test_offsets_must_rise() -> None:
    rig = Rig()
    rig.fill(3)
    with pytest.raises(AssertionError):
        rig.append(batch(2))
    with pytest.raises(AssertionError):
        rig.append(batch(5), batch(4))


def test_headers_must_describe_the_buffer() -> None:
    rig = Rig()
    with pytest.raises(AssertionError):
        rig.log.append(batch(0) + b"x", [header(batch(0))], NOW)
    with pytest.raises(AssertionError):
        rig.log.append(batch(0) + batch(1) + b"x", [header(batch(0)), header(batch(1))], NOW)
    assert rig.log.end_offset == 0


def test_a_full_disk_leaves_the_log_as_it_was() -> None:
    rig = Rig()
    batches = rig.fill(3, producer=(-1, -1, -1))
    rig.machine.capacity_bytes = rig.machine.used_bytes() + 10
    with pytest.raises(DiskFull):
        rig.append(batch(3, producer=(9, 0, 0), epoch=7))
    rig.machine.capacity_bytes = None
    assert rig.contents() == batches
    assert rig.log.state.epochs.latest == 0
    assert verdict(rig.log, header(batch(3, producer=(9, 0, 5)))) is None
    rig.append(batch(3))
    assert rig.log.end_offset == 4


def test_a_disk_too_full_to_roll_leaves_the_log_as_it_was() -> None:
    rig = Rig()
    batches = rig.fill(9)
    rig.machine.capacity_bytes = rig.machine.used_bytes() + 20
    with pytest.raises(DiskFull):
        rig.append(batch(9, value=b"v" * 500))
    assert (len(rig.log.segments.all), rig.log.end_offset) == (1, 9)
    assert rig.contents() == batches
    assert [name for name in rig.names() if name.endswith(".index")] == []


def test_bytes_between_is_zero_only_when_there_is_nothing() -> None:
    rig = Rig()
    rig.fill(25)
    log = rig.log
    assert log.reader.bytes_between(25, 25) == 0
    assert log.reader.bytes_between(25, 99) == 0
    assert log.reader.bytes_between(24, 25) >= 1
    assert log.reader.bytes_between(0, 25) == log.segments.size_bytes == 25 * ONE
    for offset in range(25):
        exact = (25 - offset) * ONE
        assert abs(log.reader.bytes_between(offset, 25) - exact) <= SMALL.index_interval_bytes + ONE


def test_dropping_a_partition_frees_its_name() -> None:
    rig = Rig()
    rig.fill(3)
    retired = rig.log.drop()
    assert retired == f"{PATH}.0.deleted"
    assert not rig.disk.exists(PATH)
    rig.open(recovery_point=0)
    assert rig.log.drop() == f"{PATH}.1.deleted"
    rig.disk.remove_tree(retired)
    assert not rig.disk.exists(retired)
