"""Coming back after a stop: clean, torn, damaged."""

from random import Random

import pytest
from logs import NOW, PATH, SMALL, Rig, batch

from headrace.log import LogConfig, RecoveryReport
from headrace.wire.batch import CorruptBatch, stamp

ONE = len(batch())


def log_file(base_offset: int) -> str:
    return f"{PATH}/{base_offset:020d}.log"


def damage(rig: Rig, base_offset: int, position: int) -> None:
    rig.machine.flip_bit(log_file(base_offset), position)


def test_a_clean_stop_needs_no_scan() -> None:
    rig = Rig()
    batches = rig.fill(25)
    rig.close_clean()
    log = rig.open(recovery_point=0, clean=True)
    assert rig.report == RecoveryReport()
    assert (log.end_offset, log.sync.synced_end) == (25, 25)
    assert log.begin_sync() is None
    assert rig.contents() == batches
    rig.fill(25)
    assert len(rig.contents()) == 50


def test_a_clean_stop_of_an_empty_log() -> None:
    rig = Rig()
    rig.close_clean()
    log = rig.open(recovery_point=0, clean=True)
    assert (log.start_offset, log.end_offset) == (0, 0)
    rig.fill(1)
    assert len(rig.contents()) == 1


def test_a_clean_stop_with_a_damaged_index_is_scanned() -> None:
    rig = Rig()
    batches = rig.fill(5)
    rig.close_clean()
    rig.machine.flip_bit(f"{PATH}/{0:020d}.index", 30)
    rig.open(recovery_point=5, clean=True)
    assert rig.report.scanned_bytes == 5 * ONE
    assert rig.contents() == batches


def test_after_a_kill_everything_is_there_and_unsynced() -> None:
    rig = Rig()
    batches = rig.fill(25)
    log = rig.open(recovery_point=0)
    assert rig.contents() == batches
    assert rig.report.cut_bytes == 0
    assert not rig.report.is_damage
    assert (log.end_offset, log.sync.synced_end) == (25, 0)
    assert rig.sync() == 25


def test_a_scan_begins_at_the_segment_of_the_recovery_point() -> None:
    rig = Rig()
    rig.fill(35)
    bases = [segment.base_offset for segment in rig.log.segments.all]
    sizes = [segment.size for segment in rig.log.segments.all]
    rig.open(recovery_point=bases[2] + 1)
    assert rig.report.scanned_bytes == sum(sizes[2:])
    assert rig.log.sync.synced_end == bases[2] + 1


def test_a_torn_tail_is_cut() -> None:
    rig = Rig()
    batches = rig.fill(3)
    rig.disk.open(log_file(0)).append(batch(3)[:-5])
    rig.open(recovery_point=0)
    assert rig.report == RecoveryReport(cut_bytes=ONE - 5, cut_offset=3, scanned_bytes=4 * ONE - 5)
    assert not rig.report.is_damage
    assert rig.contents() == batches
    assert rig.disk.size(log_file(0)) == 3 * ONE
    rig.fill(1)
    assert len(rig.contents()) == 4


def test_zeros_at_the_end_are_cut() -> None:
    rig = Rig()
    rig.fill(3)
    rig.disk.open(log_file(0)).append(bytes(5000))
    rig.open(recovery_point=0)
    assert (rig.log.end_offset, rig.report.cut_bytes, rig.report.is_damage) == (3, 5000, False)


@pytest.mark.parametrize("position", [9, 16, 18, 22, 24, 50, 70, ONE - 1])
def test_a_flipped_bit_cuts_and_is_told_as_damage(position: int) -> None:
    rig = Rig()
    batches = rig.fill(8)
    damage(rig, 0, 3 * ONE + position)
    rig.open(recovery_point=0)
    assert rig.contents() == batches[:3]
    assert rig.report.cut_offset == 3
    assert rig.report.cut_bytes == 5 * ONE
    assert rig.report.valid_batch_after_cut
    assert rig.report.is_damage
    assert not rig.report.below_recovery_point


def test_a_flipped_offset_is_judged_by_the_batch_after_it() -> None:
    rig = Rig()
    batches = rig.fill(8)
    damage(rig, 0, 3 * ONE + 6)
    rig.open(recovery_point=0)
    assert rig.contents() == batches[:3]
    assert rig.report.valid_batch_after_cut


def test_a_gap_that_compaction_left_is_no_damage() -> None:
    rig = Rig()
    batches = [batch(0), batch(40), batch(41), batch(90)]
    rig.append(*batches)
    rig.open(recovery_point=0)
    assert rig.contents() == batches
    assert rig.report.cut_bytes == 0


def test_a_cut_below_the_recovery_point_is_told() -> None:
    rig = Rig()
    rig.fill(5)
    damage(rig, 0, 4 * ONE + 70)
    rig.open(recovery_point=5)
    assert rig.log.end_offset == rig.log.sync.synced_end == 4
    assert rig.report.below_recovery_point
    assert not rig.report.valid_batch_after_cut


def test_a_log_shorter_than_its_recovery_point_is_told() -> None:
    rig = Rig()
    rig.fill(25)
    rig.disk.unlink(log_file(rig.log.segments.all[-1].base_offset))
    rig.open(recovery_point=25)
    assert rig.report.below_recovery_point
    rig.close_clean()
    rig.open(recovery_point=25, clean=True)
    assert rig.report.below_recovery_point
    rig.disk.remove_tree(PATH)
    rig.open(recovery_point=25)
    assert rig.report.below_recovery_point
    assert rig.log.end_offset == 0


def test_segments_after_a_cut_are_dropped() -> None:
    rig = Rig()
    rig.fill(25)
    middle = rig.log.segments.all[1].base_offset
    damage(rig, middle, ONE + 70)
    rig.open(recovery_point=0)
    assert rig.log.end_offset == middle + 1
    assert len(rig.log.segments.all) == 2
    assert rig.report.valid_batch_after_cut
    for path in rig.log.retire_segments(rig.log.start_offset):
        rig.disk.unlink(path)
    assert [name for name in rig.names() if name.endswith(".log")] == [f"{0:020d}.log", f"{middle:020d}.log"]


def test_a_missing_segment_ends_the_log_before_it() -> None:
    rig = Rig()
    rig.fill(35)
    bases = [segment.base_offset for segment in rig.log.segments.all]
    rig.disk.unlink(log_file(bases[1]))
    rig.open(recovery_point=0)
    assert rig.log.end_offset == bases[1]
    assert rig.report.valid_batch_after_cut


def test_an_older_epoch_after_a_newer_one_is_of_another_history() -> None:
    rig = Rig()
    rig.append(batch(0, epoch=3))
    stale = bytearray(batch(1, epoch=3))
    stamp(stale, 0, 1, 2)
    rig.disk.open(log_file(0)).append(stale)
    rig.open(recovery_point=0)
    assert rig.log.end_offset == 1
    assert not rig.report.is_damage


def test_an_epoch_that_the_next_batch_contradicts_is_damage() -> None:
    """The CRC does not cover it: one flipped bit would make all that follows look like another history."""
    rig = Rig()
    batches = rig.fill(10)
    position = len(batches[0]) + len(batches[1])
    rig.machine.flip_bit(log_file(0), position + 13)
    rig.open(recovery_point=0)
    assert rig.log.end_offset == 2
    assert rig.report.is_damage


def test_a_snapshot_above_the_recovery_point_is_not_believed() -> None:
    rig = Rig()
    rig.append(batch(0, producer=(7, 0, 0)))
    rig.log.roll(NOW)
    rig.open(recovery_point=0)
    assert f"{1:020d}.snapshot" not in rig.names()


def test_an_index_that_went_missing_is_built_again_when_asked() -> None:
    rig = Rig()
    batches = rig.fill(25)
    rig.close_clean()
    rig.disk.unlink(f"{PATH}/{0:020d}.index")
    rig.open(recovery_point=25, clean=True)
    assert rig.read(5, 1) == batches[5]
    assert f"{0:020d}.index" in rig.names()


def test_an_index_of_another_log_is_not_believed() -> None:
    rig = Rig(LogConfig(index_interval_bytes=1))
    rig.append(batch(0, value=b"a" * 100), batch(1, value=b"b" * 10), batch(2))
    rig.log.roll(NOW)
    stale = rig.disk.read(f"{PATH}/{0:020d}.index")
    other = Rig(LogConfig(index_interval_bytes=1))
    batches = [batch(0, value=b"b" * 10), batch(1, value=b"a" * 100), batch(2)]
    other.append(*batches[:2])
    other.append(batches[2])
    other.log.roll(NOW)
    other.close_clean()
    index = other.disk.open(f"{PATH}/{0:020d}.index")
    index.truncate(0)
    index.append(stale)
    other.open(recovery_point=3, clean=True)
    assert [other.read(offset, 1) for offset in range(3)] == batches


def test_a_start_above_the_end_begins_anew_there() -> None:
    rig = Rig()
    rig.fill(5)
    log = rig.open(recovery_point=5, start_offset=80)
    assert (log.start_offset, log.end_offset) == (80, 80)
    rig.fill(1)
    assert rig.contents() == [batch(80)]


def test_segments_below_the_start_that_came_back_are_dropped() -> None:
    rig = Rig()
    rig.fill(25)
    second = rig.log.segments.all[1].base_offset
    log = rig.open(recovery_point=25, start_offset=second)
    assert log.segments.all[0].base_offset == second
    assert rig.disk.exists(f"{log_file(0)}.deleted")


def test_left_over_and_foreign_files() -> None:
    rig = Rig()
    rig.fill(3)
    for name in ("00000000000000000000.log.deleted", "epochs.tmp", "00000000000000000077.index", "notes.txt"):
        rig.disk.open(f"{PATH}/{name}", create=True).append(b"?")
    rig.open(recovery_point=0)
    assert rig.names() == ["00000000000000000000.log", "notes.txt"]


def test_rot_in_a_header_is_told_to_the_reader_and_not_served() -> None:
    rig = Rig(SMALL._replace(index_interval_bytes=10_000))
    rig.fill(5)
    rig.close_clean()
    rig.machine.flip_bit(log_file(0), ONE + 8, 7)
    rig.open(recovery_point=5, clean=True)
    with pytest.raises(CorruptBatch, match=r"00000000000000000000\.log at "):
        rig.read(3, 1)


def test_a_start_above_the_recovery_point_keeps_what_producers_had_written_below_it() -> None:
    """Retention may be ahead of the syncs of a relaxed topic: the batches that a replay would need are gone."""
    rig = Rig()
    for sequence in range(25):
        rig.append(batch(rig.log.end_offset, producer=(7, 0, sequence)))
    start = rig.log.segments.all[-1].base_offset
    rig.log.advance_start(start)
    for path in rig.log.retire_segments(start):
        rig.disk.unlink(path)
    log = rig.open(recovery_point=3, start_offset=start)
    assert log.start_offset == start
    state = log.state.producers.get(7)
    assert state is not None
    assert state.last_sequence == 24


def test_damage_is_known_to_the_next_life_until_somebody_was_told() -> None:
    rig = Rig()
    rig.fill(25)
    damage(rig, rig.log.segments.all[1].base_offset, ONE + 70)
    end = rig.open(recovery_point=0).end_offset
    assert rig.report.is_damage
    assert rig.open(recovery_point=0).end_offset == end
    assert rig.report.is_damage, "it may have been told to nobody"
    rig.log.damage.forget()
    rig.open(recovery_point=0)
    assert not rig.report.is_damage


@pytest.mark.parametrize("seed", range(4))
def test_damage_is_on_disk_before_anything_is_cut(seed: int) -> None:
    rig = Rig()
    rig.fill(25)
    rig.sync()
    damage(rig, rig.log.segments.all[1].base_offset, ONE + 70)
    rig.open(recovery_point=0)
    rig.machine.crash(Random(seed))
    rig.open(recovery_point=0)
    assert rig.report.is_damage


def test_a_log_whose_first_segment_is_gone_lacks_its_head_until_it_begins_anew() -> None:
    rig = Rig()
    rig.fill(25)
    second = rig.log.segments.all[1].base_offset
    rig.disk.unlink(log_file(rig.log.segments.all[0].base_offset))
    rig.open(recovery_point=0)
    assert rig.log.start_offset == second
    assert rig.log.lacks_head
    assert rig.report.is_damage
    rig.log.truncate_fully_to(0, NOW)
    assert not rig.log.lacks_head


def test_a_log_that_begins_at_the_start_that_was_written_down_lacks_nothing() -> None:
    rig = Rig()
    rig.fill(25)
    second = rig.log.segments.all[1].base_offset
    rig.disk.unlink(log_file(rig.log.segments.all[0].base_offset))
    rig.open(recovery_point=0, start_offset=second)
    assert not rig.log.lacks_head
    assert not rig.report.is_damage
