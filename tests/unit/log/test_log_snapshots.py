"""Snapshots between rolls: how little a cut replays, and which of them stay."""

import sys

import pytest
from logs import NOW, PATH, SMALL, Rig, batch, header, verdict

from headrace.base.errors import DiskFull
from headrace.log import Duplicate, LogConfig
from headrace.log.ladder import surplus
from headrace.log.snapshots import Snapshots
from headrace.log.state import LogState

ONE_SEGMENT = LogConfig(snapshot_batches=16)


def written(rig: Rig, count: int) -> None:
    for sequence in range(count):
        rig.append(batch(rig.log.end_offset, producer=(7, 0, sequence)))


def kept(rig: Rig) -> list[int]:
    return [int(name[:20]) for name in rig.names() if name.endswith(".snapshot")]


@pytest.mark.parametrize("cut", [1, 15, 16, 17, 100, 159])
def test_a_cut_replays_no_more_than_the_batches_between_two_snapshots(cut: int) -> None:
    rig = Rig(ONE_SEGMENT)
    written(rig, 160)
    rig.log.truncate_to(cut, NOW)
    assert rig.batches_to_replay < 16
    assert verdict(rig.log, header(batch(0, producer=(7, 0, cut - 1)))) == Duplicate(cut - 1, cut, NOW.wall)
    assert verdict(rig.log, header(batch(0, producer=(7, 0, cut)))) is None


def test_without_a_setting_a_cut_replays_thousands_of_batches_at_most() -> None:
    """Whatever the size of the segment: a cut runs on the loop, and a lease is two seconds long."""
    assert LogConfig().snapshot_batches <= 8192
    assert LogConfig().snapshot_bytes <= 64 << 20


def test_a_snapshot_is_due_after_so_many_bytes_too() -> None:
    rig = Rig(LogConfig(snapshot_bytes=1000))
    written(rig, 40)
    assert len(kept(rig)) > 2
    assert len(rig.log.segments.all) == 1


def test_the_tail_that_a_crash_left_has_snapshots_again() -> None:
    rig = Rig(ONE_SEGMENT)
    written(rig, 160)
    rig.open(recovery_point=20)
    assert kept(rig) == [16, *range(32, 161, 16)]
    rig.log.truncate_to(150, NOW)
    assert rig.batches_to_replay == 6
    assert verdict(rig.log, header(batch(0, producer=(7, 0, 150)))) is None


def test_a_snapshot_of_a_history_that_was_cut_is_never_used() -> None:
    rig = Rig(ONE_SEGMENT)
    written(rig, 40)
    rig.log.truncate_to(20, NOW)
    for sequence in range(20):
        rig.append(batch(20 + sequence, producer=(8, 0, sequence)))
    rig.log.truncate_to(38, NOW)
    assert verdict(rig.log, header(batch(0, producer=(7, 0, 20)))) is None
    assert verdict(rig.log, header(batch(0, producer=(8, 0, 18)))) is None


def test_torn_snapshots_cost_a_longer_replay_and_nothing_else() -> None:
    rig = Rig(ONE_SEGMENT)
    written(rig, 100)
    for offset in (80, 96):
        rig.machine.flip_bit(f"{PATH}/{offset:020d}.snapshot", 20)
    rig.log.truncate_to(98, NOW)
    assert rig.batches_to_replay == 98 - 64
    assert verdict(rig.log, header(batch(0, producer=(7, 0, 98)))) is None


def test_a_relaxed_topic_owes_no_sync_for_a_snapshot() -> None:
    rig = Rig(ONE_SEGMENT)
    written(rig, 40)
    assert not rig.log.sync.is_due(rig.log.end_offset, sys.maxsize)
    rig.log.roll(NOW)
    assert rig.log.sync.is_due(rig.log.end_offset, sys.maxsize)
    rig.sync()
    assert not rig.log.sync.is_due(rig.log.end_offset, sys.maxsize)


def test_checkpoints_thin_snapshots_out_and_a_cut_stays_in_proportion() -> None:
    rig = Rig(ONE_SEGMENT)
    for _ in range(200):
        written(rig, 16)
        rig.sync()
        rig.log.snapshots.prune(rig.log.sync.synced_end, rig.log.start_offset)
        assert len(kept(rig)) <= 20
    end = rig.log.end_offset
    for depth in (10, 100, 1000, 3000):
        rig.log.truncate_to(end - depth, NOW)
        assert rig.batches_to_replay <= depth + 16


def test_snapshots_below_the_start_of_the_log_go_but_for_the_newest() -> None:
    rig = Rig(SMALL._replace(snapshot_batches=4))
    written(rig, 60)
    rig.sync()
    rig.log.advance_start(50)
    rig.log.snapshots.prune(60, rig.log.start_offset)
    assert [offset for offset in kept(rig) if offset <= 50] == [max(each for each in kept(rig) if each <= 50)]


def test_thinning_keeps_the_newest_two_and_doubles_the_distance() -> None:
    assert surplus([]) == surplus([5]) == surplus([5, 9]) == []
    offsets = list(range(0, 1001, 10))
    left = [each for each in offsets if each not in surplus(offsets)]
    assert left == [0, 360, 680, 840, 920, 960, 980, 990, 1000]
    assert surplus(left) == []


def test_a_snapshot_that_could_not_be_written_again_is_not_looked_for() -> None:
    rig = Rig()
    snapshots = Snapshots(rig.disk, PATH, [])
    snapshots.write(5, LogState()).close()
    rig.machine.capacity_bytes = rig.machine.used_bytes() - 60
    with pytest.raises(DiskFull):
        snapshots.write(5, LogState())
    assert snapshots.restore(9, [], NOW.wall)[0] == 0
