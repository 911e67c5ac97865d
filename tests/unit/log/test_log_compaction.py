"""What compaction keeps, what it takes, and what it leaves of a batch."""

import itertools

import pytest
from cleaning import CONFIG, DAY_MS, CleaningRig
from logs import NOW, later, verdict

from headrace.base.errors import DiskFull
from headrace.log import Duplicate
from headrace.log.clean_job import SealedSegment
from headrace.log.clean_log import groups
from headrace.wire.batch import CorruptBatch, crc_ok, iter_headers, parse_header
from headrace.wire.batch import sealed as with_crc
from headrace.wire.compression import GZIP, LZ4, NONE, SNAPPY, ZSTD
from headrace.wire.records import Marker, Record, build_batch, build_marker, read_records


def sealed(*batches: list[tuple[str, str | None]], codec: int = NONE) -> CleaningRig:
    rig = CleaningRig()
    for records in batches:
        rig.put(*records, codec=codec)
    rig.seal()
    return rig


@pytest.mark.parametrize("codec", [NONE, GZIP, SNAPPY, LZ4, ZSTD])
def test_the_newest_value_of_each_key_is_left_where_it_was(codec: int) -> None:
    rig = sealed([("a", "1"), ("b", "1"), ("a", "2")], [("c", "1"), ("b", "2"), ("a", "3")], codec=codec)
    rig.clean()
    assert rig.table() == [(3, "c", "1"), (4, "b", "2"), (5, "a", "3")]
    assert rig.log.end_offset == 6
    assert [parse_header(content).codec for content in rig.contents() if parse_header(content).record_count] == [codec]


def test_every_batch_that_is_left_is_sound_and_keeps_its_bounds() -> None:
    rig = sealed([("a", "1"), ("b", "1"), ("c", "1")], [("b", "2")])
    rig.clean()
    first, second = rig.contents()
    assert all(crc_ok(content, 0, len(content)) for content in (first, second))
    assert (parse_header(first).base_offset, parse_header(first).last_offset) == (0, 2)
    assert [offset for offset, _, _ in rig.table()] == [0, 2, 3]


def test_times_are_kept_when_records_around_them_go() -> None:
    rig = CleaningRig()
    made = [Record(timestamp=NOW.wall + n, key=key, value=b"v") for n, key in enumerate((b"a", b"b", b"a", b"c"))]
    rig.append(build_batch(made))
    rig.seal()
    rig.clean()
    assert [(each.offset, each.timestamp - NOW.wall) for each in rig.records()] == [(1, 1), (2, 2), (3, 3)]


def test_the_active_segment_is_left_alone() -> None:
    rig = sealed([("a", "1")], [("b", "1")])
    rig.put(("a", "2"), ("a", "3"))
    rig.clean()
    assert rig.table() == [(0, "a", "1"), (1, "b", "1"), (2, "a", "2"), (3, "a", "3")]


def test_a_tombstone_takes_what_is_older_and_goes_a_day_after_it_was_first_cleaned() -> None:
    rig = sealed([("a", "1"), ("b", "1")], [("a", None), ("c", "1")])
    report = rig.clean()
    assert rig.table() == [(1, "b", "1"), (2, "a", None), (3, "c", "1")]
    assert report.horizon == NOW.wall + DAY_MS
    assert [each.timestamp for each in rig.records()] == [NOW.wall] * 3

    rig.clean(later(DAY_MS - 1))
    assert (2, "a", None) in rig.table(), "a reader that began before it was cleaned has a day to see it"
    rig.clean(later(DAY_MS))
    assert rig.table() == [(1, "b", "1"), (3, "c", "1")]
    assert [each.timestamp for each in rig.records()] == [NOW.wall] * 2


def test_a_tombstone_that_is_due_stays_if_it_must() -> None:
    rig = sealed([("a", "1"), ("b", "1")], [("a", None), ("c", "1")])
    rig.clean(may_forget=False)
    report = rig.clean(later(2 * DAY_MS), may_forget=False)
    assert (2, "a", None) in rig.table()
    assert report.horizon == NOW.wall + DAY_MS, "it is due as soon as it may go"
    rig.clean(later(2 * DAY_MS))
    assert rig.table() == [(1, "b", "1"), (3, "c", "1")]


def test_a_record_without_a_key_goes() -> None:
    rig = CleaningRig()
    rig.append(build_batch([Record(timestamp=1, value=b"v"), Record(timestamp=1, key=b"k", value=b"v")]))
    rig.seal()
    rig.clean()
    assert rig.table() == [(1, "k", "v")]


def test_a_batch_that_nobody_can_open_stays() -> None:
    rig = CleaningRig()
    strange = bytearray(build_batch([Record(timestamp=1, key=b"k", value=b"v")]))
    strange[57:61] = (9).to_bytes(4, "big")
    rig.append(with_crc(parse_header(bytes(strange)), bytes(strange[61:])))
    rig.put(("k", "2"))
    rig.seal()
    rig.clean()
    assert len(rig.contents()) == 2


@pytest.mark.parametrize("position", [0, 7, 65, 72, 130])
def test_rot_stops_it_before_anything_is_swapped(position: int) -> None:
    rig = sealed([("a", "1")], [("a", "2")])
    rig.machine.flip_bit(rig.log.segments.all[0].log_path, position)
    with pytest.raises(CorruptBatch):
        rig.clean()
    assert [name for name in rig.names() if name.endswith(".cleaned")] == []


def test_no_more_disk_is_taken_than_may_be() -> None:
    rig = sealed([("a", "1")], [("a", "2")])
    rig.machine.capacity_bytes = rig.machine.used_bytes() + 100
    with pytest.raises(DiskFull):
        rig.clean(free_bytes_min=50)


def test_a_key_map_too_small_for_all_cleans_as_far_as_it_reaches() -> None:
    rig = sealed(*[[(f"k{n % 40}", f"{n}"), (f"k{n % 40}", f"{n}b")] for n in range(80)])
    table = dict.fromkeys(range(0))
    cleanings = 0
    while rig.cleaned_to < rig.log.segments.all[-1].base_offset:
        before = rig.cleaned_to
        rig.clean(memory_bytes=24 * 20)
        assert rig.cleaned_to > before
        cleanings += 1
    assert cleanings > 2
    table = {key: value for _, key, value in rig.table()}
    assert table == {f"k{n % 40}": f"{n}b" for n in range(40, 80)}


def test_what_lies_below_the_start_of_the_log_goes() -> None:
    rig = sealed([("a", "1"), ("b", "1")], [("c", "1"), ("d", "1")])
    rig.log.advance_start(3)
    rig.clean()
    assert [key for _, key, _ in rig.table()] == ["d"]


# What others rest on


def test_the_last_sequence_of_a_live_producer_stays() -> None:
    rig = CleaningRig()
    rig.put(("a", "1"), ("b", "1"), producer_id=7, producer_epoch=0, base_sequence=0)
    rig.put(("a", "2"), ("b", "2"), producer_id=7, producer_epoch=0, base_sequence=2)
    last = parse_header(rig.contents()[-1])
    rig.put(("a", "3"), ("b", "3"))
    rig.put(("z", "1"))
    rig.seal()
    rig.clean()
    assert [parse_header(content).record_count for content in rig.contents()] == [0, 0, 2, 1]
    for name in list(rig.names()):
        if name.endswith(".snapshot"):
            rig.disk.unlink(f"{rig.log.path}/{name}")
    rig.machine.kill()
    log = rig.open(recovery_point=rig.log.end_offset)
    assert verdict(log, last) == Duplicate(last.base_offset, last.next_offset, last.max_timestamp)
    assert verdict(log, last._replace(base_sequence=4)) is None


def test_where_an_epoch_began_is_still_known() -> None:
    rig = CleaningRig()
    for epoch in range(4):
        rig.put(("a", f"{epoch}"), epoch=epoch)
        rig.put(("a", f"{epoch}b"), epoch=epoch)
    rig.seal()
    known = [rig.log.state.epochs.end_of(epoch, -1, rig.log.end_offset) for epoch in range(4)]
    rig.clean()
    for name in list(rig.names()):
        if name.endswith(".snapshot"):
            rig.disk.unlink(f"{rig.log.path}/{name}")
    rig.machine.kill()
    log = rig.open(recovery_point=0)
    assert [log.state.epochs.end_of(epoch, -1, log.end_offset) for epoch in range(4)] == known


def test_aborted_records_go_and_hide_nothing() -> None:
    rig = CleaningRig()
    rig.put(("a", "committed"))
    producer = {"producer_id": 7, "producer_epoch": 0}
    rig.put(("a", "aborted"), ("b", "aborted"), base_sequence=0, transactional=True, **producer)
    rig.append(build_marker(Marker(False, 0), base_offset=3, leader_epoch=0, timestamp=NOW.wall, **producer))
    rig.put(("c", "committed"), base_sequence=2, transactional=True, **producer)
    rig.append(build_marker(Marker(True, 0), base_offset=5, leader_epoch=0, timestamp=NOW.wall, **producer))
    rig.log.state.transactions.on_high_watermark(6)
    rig.seal()
    rig.clean()
    data = [content for content in rig.contents() if not parse_header(content).is_control]
    assert [key for content in data for key in keys(content)] == [b"a", b"c"]
    for _ in range(2):
        rig.cleaned_to = 0
        rig.clean(later(DAY_MS), producers=[])
        assert markers(rig) == [3, 5], "who is told of an aborted transaction must find where it ends"
        assert [key for _, key, _ in rig.table() if key in "abc"] == ["a", "c"]


def test_a_marker_stays_while_it_is_the_last_of_a_live_producer() -> None:
    rig = CleaningRig()
    producer = {"producer_id": 7, "producer_epoch": 3}
    rig.put(("a", "1"), base_sequence=0, transactional=True, **producer)
    rig.append(build_marker(Marker(True, 0), base_offset=1, leader_epoch=0, timestamp=NOW.wall, **producer))
    rig.put(("a", "2"))
    rig.put(("b", "1"))
    rig.log.state.transactions.on_high_watermark(4)
    rig.seal()
    rig.clean()
    rig.clean(later(DAY_MS))
    assert markers(rig) == [1]
    rig.clean(later(DAY_MS), producers=[], may_forget=False)
    assert markers(rig) == [1]
    rig.clean(later(DAY_MS), producers=[])
    assert markers(rig) == []

    rig.put(("c", "1"), base_sequence=1, transactional=True, **producer)
    rig.append(build_marker(Marker(True, 0), base_offset=5, leader_epoch=0, timestamp=NOW.wall, **producer))
    rig.put(("c", "2"), base_sequence=2, transactional=True, **producer)
    rig.append(build_marker(Marker(True, 0), base_offset=7, leader_epoch=0, timestamp=NOW.wall, **producer))
    rig.log.state.transactions.on_high_watermark(8)
    rig.seal()
    rig.clean()
    assert markers(rig) == [5, 7]
    rig.clean(later(DAY_MS - 1))
    assert markers(rig) == [5, 7], "a reader may be in the midst of it"
    rig.cleaned_to = 4
    rig.clean(later(DAY_MS))
    assert markers(rig) == [7], "it has a record left, and there is no later one"


def markers(rig: CleaningRig) -> list[int]:
    headers = [parse_header(content) for content in rig.contents()]
    return [header.base_offset for header in headers if header.is_control and header.record_count]


def keys(content: bytes) -> list[bytes | None]:
    return [record.key for record in read_records(content)]


# Reading what is left


def test_a_reader_in_a_gap_goes_on_after_it() -> None:
    rig = sealed(*[[("a", f"{n}")] for n in range(30)], [("b", "1")])
    rig.clean()
    assert rig.log.end_offset == 31
    for offset in range(31):
        found = rig.read(offset)
        assert found is not None
        assert next(iter_headers(found))[1].last_offset >= offset


def test_look_ups_by_time_find_records_only() -> None:
    rig = CleaningRig()
    for n in range(20):
        rig.append(build_batch([Record(timestamp=1000 + n, key=b"a", value=b"v")], base_offset=n))
    rig.append(build_batch([Record(timestamp=5, key=b"b", value=b"v")], base_offset=20))
    rig.append(build_batch([Record(timestamp=500, key=b"a", value=b"v")], base_offset=21))
    rig.seal()
    rig.clean()
    assert [offset for offset, _, _ in rig.table()] == [20, 21]
    assert rig.log.reader.find_by_time(6, rig.log.start_offset) == (21, 500)
    assert rig.log.reader.find_by_time(501, rig.log.start_offset) is None
    assert rig.log.reader.max_timestamp(rig.log.start_offset) == (500, 21)


def test_segments_follow_on_one_another_and_small_ones_join() -> None:
    rig = sealed(*[[(f"k{n % 5}", f"{n}" * 10)] for n in range(60)])
    assert len(rig.log.segments.all) > 5
    rig.clean()
    rig.clean()
    segments = rig.log.segments.all
    assert len(segments) == 3 or len(segments) == 2
    for before, after in itertools.pairwise(segments):
        assert before.next_offset == after.base_offset
    assert [key for _, key, _ in rig.table()] == ["k0", "k1", "k2", "k3", "k4"]


def test_what_is_clean_is_not_written_again() -> None:
    rig = sealed([("a", "1"), ("b", "1")])
    assert rig.clean().bytes_written == 0
    before = rig.log.segments.all[0]
    rig.clean()
    assert rig.log.segments.all[0] is before


def test_groups_are_no_larger_than_a_segment() -> None:
    made = [SealedSegment(n * 10, n * 10 + 10, size) for n, size in enumerate((500, 100, 100, 300, 700, 10))]
    assert [[each.size for each in group] for group in groups(made, CONFIG.segment_bytes)] == [
        [500, 100],
        [100, 300],
        [700],
        [10],
    ]
    assert len(groups([SealedSegment(0, 1 << 30, 1), SealedSegment(1 << 30, 1 << 32, 1)], 100)) == 2


def test_a_replica_that_was_behind_may_lack_the_tombstone_between_two_lives_of_a_key() -> None:
    leader, behind = sealed([("group", "of generation 5")]), CleaningRig()
    _copy(leader, behind)
    leader.put(("group", None))
    leader.put(("group", "of generation 1"))
    leader.seal()
    leader.clean()
    _copy(leader, behind)
    assert behind.table() == [(0, "group", "of generation 5"), (2, "group", "of generation 1")]


def _copy(leader: CleaningRig, follower: CleaningRig) -> None:
    while found := leader.log.reader.read(follower.log.end_offset, 1 << 20, leader.log.end_offset):
        content = bytes(found.read())
        found.release()
        follower.log.append(content, [header for _, header in iter_headers(memoryview(content))], NOW)
