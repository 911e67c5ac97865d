"""How much a GET fetches: as much as its records will take, once a batch of theirs was seen."""

from headrace.base.ids import TopicPartition
from headrace.gateway.messages.fetch_sizes import FETCH_BYTES_MAX, FETCH_BYTES_MIN, FETCH_SIZES_MAX, FetchSizes
from headrace.wire.records import Record, build_batch

ID = TopicPartition("t", 0)


def batch_of(count: int, size: int) -> memoryview:
    return memoryview(build_batch([Record(-1, 0, None, bytes(size), [])] * count))


def test_of_an_unknown_partition_a_kilobyte_for_each_record() -> None:
    assert FetchSizes().wanted(ID, 1000) == 1000 * 1024


def test_of_a_known_one_what_they_took_last_and_a_batch_more() -> None:
    sizes = FetchSizes()
    batch = batch_of(500, 300)
    sizes.learn(ID, batch)
    needed = 1000 * len(batch) // 500 + len(batch)
    assert needed <= sizes.wanted(ID, 1000) < needed * 1.01
    assert sizes.wanted(TopicPartition("t", 1), 1000) == 1000 * 1024


def test_within_bounds_whatever_was_seen() -> None:
    sizes = FetchSizes()
    sizes.learn(ID, batch_of(1, 5_000_000))
    assert sizes.wanted(ID, 1) == FETCH_BYTES_MAX
    sizes.learn(ID, batch_of(1, 1))
    assert sizes.wanted(ID, 1) == FETCH_BYTES_MIN
    sizes.learn(ID, memoryview(b""))
    assert sizes.wanted(ID, 1) == FETCH_BYTES_MIN


def test_a_million_partitions_are_not_all_remembered() -> None:
    sizes, batch = FetchSizes(), batch_of(1, 100)
    for partition in range(3 * FETCH_SIZES_MAX):
        sizes.learn(TopicPartition("t", partition), batch)
    assert len(sizes._shapes) <= FETCH_SIZES_MAX
