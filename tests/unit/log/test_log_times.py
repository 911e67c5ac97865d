"""Look-ups by time, against a search through every record."""

from hypothesis import given, settings
from hypothesis import strategies as st
from logs import Rig, batch

from headrace.log import LogConfig
from headrace.wire.batch import stamp_log_append_time
from headrace.wire.records import iter_offsets

times = st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5), max_size=40)


def filled(batches: list[list[int]]) -> Rig:
    rig = Rig(LogConfig(segment_bytes=1500, index_interval_bytes=150))
    for timestamps in batches:
        rig.append(batch(rig.log.end_offset, timestamps=timestamps))
    return rig


@settings(deadline=None, max_examples=60)
@given(times, st.integers(0, 61), st.integers(0, 100))
def test_the_first_record_not_older(batches: list[list[int]], timestamp: int, start: int) -> None:
    rig = filled(batches)
    rig.log.advance_start(min(start, rig.log.end_offset))
    records = [record for content in rig.contents() for record in iter_offsets(content)]
    expected = [found for found in records if found[1] >= timestamp and found[0] >= rig.log.start_offset]
    assert rig.log.reader.find_by_time(timestamp, rig.log.start_offset) == (expected[0] if expected else None)


@settings(deadline=None, max_examples=30)
@given(times)
def test_the_newest_record(batches: list[list[int]]) -> None:
    rig = filled(batches)
    flat = [time for timestamps in batches for time in timestamps]
    assert rig.log.reader.max_timestamp(rig.log.start_offset) == (
        (max(flat), flat.index(max(flat))) if flat else (-1, -1)
    )


def test_it_is_the_same_after_a_restart() -> None:
    rig = filled([[time, time + 3] for time in range(0, 60, 2)])
    expected = [rig.log.reader.find_by_time(time, rig.log.start_offset) for time in range(66)]
    rig.close_clean()
    rig.open(recovery_point=rig.log.end_offset, clean=True)
    assert [rig.log.reader.find_by_time(time, rig.log.start_offset) for time in range(66)] == expected


def test_log_append_time_is_the_time_of_every_record() -> None:
    rig = filled([[10, 20, 30]])
    stamped = bytearray(batch(3, timestamps=[5, 6, 7]))
    stamp_log_append_time(stamped, 0, 50)
    rig.append(bytes(stamped))
    assert rig.log.reader.find_by_time(31, rig.log.start_offset) == (3, 50)
    rig.log.advance_start(5)
    assert rig.log.reader.find_by_time(31, rig.log.start_offset) == (5, 50)


def test_records_that_cannot_be_unpacked_are_found_by_their_batch() -> None:
    rig = filled([[10]])
    garbage = bytearray(batch(1, timestamps=[20, 30]))
    garbage[22] |= 4
    rig.append(bytes(garbage))
    assert rig.log.reader.find_by_time(25, rig.log.start_offset) == (1, 30)
