"""Which segments go."""

from typing import NamedTuple

from logs import NOW, Rig, batch

from headrace.log.retention import start_by_size, start_by_time


class Held(NamedTuple):
    base_offset: int
    next_offset: int
    size: int
    max_timestamp: int


HELD = [Held(0, 10, 100, 1000), Held(10, 20, 100, 3000), Held(20, 30, 100, 2000), Held(30, 35, 40, 9000)]


def test_by_time_the_newest_record_of_a_segment_counts() -> None:
    assert start_by_time(HELD, 1000, 2000) == 0
    assert start_by_time(HELD, 1000, 2001) == 10
    assert start_by_time(HELD, 1000, 4000) == 10
    assert start_by_time(HELD, 1000, 4001) == 30
    assert start_by_time(HELD, 1000, 10_000) == 30


def test_by_time_even_the_last_may_go() -> None:
    assert start_by_time(HELD, 1000, 10_001) == 35


def test_by_time_what_has_no_timestamp_stays() -> None:
    assert start_by_time([Held(0, 10, 100, -1), *HELD[1:]], 1, 1 << 40) == 0
    assert start_by_time([Held(5, 5, 0, -1)], 1, 1 << 40) == 5


def test_by_size_what_stays_is_enough() -> None:
    assert start_by_size(HELD, 340) == 0
    assert start_by_size(HELD, 241) == 0
    assert start_by_size(HELD, 240) == 10
    assert start_by_size(HELD, 140) == 20
    assert start_by_size(HELD, 0) == 30


def test_minus_one_is_no_limit() -> None:
    assert start_by_time(HELD, -1, 1 << 60) == 0
    assert start_by_size(HELD, -1) == 0


def test_a_log_tells_retention_what_it_asks() -> None:
    rig = Rig()
    for offset in range(30):
        rig.append(batch(offset, timestamps=[NOW.wall + offset]))
    rig.close_clean()
    log = rig.open(recovery_point=30, clean=True)
    second = log.segments.all[1]
    assert start_by_time(log.segments.all, 100, NOW.wall + 100 + second.base_offset) == second.base_offset
    assert start_by_time(log.segments.all, 100, NOW.wall + 1000) == 30


def test_a_segment_that_lost_its_end_on_the_disk_may_go() -> None:
    rig = Rig()
    rig.fill(30)
    rig.close_clean()
    first = rig.open(recovery_point=30, clean=True).segments.all[0]
    lost = first.next_offset - 3
    rig.disk.open(first.log_path).truncate(first.position_of(lost))
    rig.close_clean()
    log = rig.open(recovery_point=30, clean=True)
    assert start_by_time(log.segments.all[:1], 100, NOW.wall + 1000) == lost
    log.advance_start(lost)
    assert len(log.retire_segments(lost)) == 1
    rig.sync()
    assert (log.start_offset, log.segments.all[0].base_offset) == (lost, lost + 3)
