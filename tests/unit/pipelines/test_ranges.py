"""The plan of a batch: nobody starved, nothing beyond the end."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.base.ids import TopicPartition
from headrace.pipelines.ranges import end_of, lag_of, plan_batch
from headrace.spark.source.ranges import OffsetRange

bounds = st.dictionaries(
    st.integers(0, 20), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20
)


def test_every_partition_with_something_to_read_gets_a_share():
    ranges = plan_batch("t", {0: 0, 1: 0, 2: 5}, {0: 1_000_000, 1: 1, 2: 5}, offsets_max=100)
    assert [each.id.partition for each in ranges] == [0, 1]
    assert sum(each.size for each in ranges) <= 101


def test_all_is_read_when_the_batch_is_large_enough():
    wanted = [OffsetRange(TopicPartition("t", 0), 3, 10), OffsetRange(TopicPartition("t", 1), 0, 4)]
    assert plan_batch("t", {0: 3, 1: 0}, {0: 10, 1: 4}, 1000) == wanted


@given(bounds, st.integers(1, 10**6))
def test_batches_come_to_the_end_and_never_pass_it(partitions, offsets_max):
    start = {p: first for p, (first, _) in partitions.items()}
    end = {p: first + width for p, (first, width) in partitions.items()}
    for _ in range(3):
        ranges = plan_batch("t", start, end, offsets_max)
        for each in ranges:
            assert start[each.id.partition] == each.first < each.limit <= end[each.id.partition]
        assert bool(ranges) == (lag_of(start, end) > 0)
        start = end_of(start, ranges)
