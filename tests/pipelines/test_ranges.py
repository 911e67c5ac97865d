"""The plan of a batch: nobody starved, nothing beyond the end, the same offsets however they are split."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from headrace.pipelines.ranges import OffsetRange, end_of, lag_of, plan_batch, split

bounds = st.dictionaries(
    st.integers(0, 20), st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=20
)


def test_every_partition_with_something_to_read_gets_a_share():
    ranges = plan_batch("t", {0: 0, 1: 0, 2: 5}, {0: 1_000_000, 1: 1, 2: 5}, offsets_max=100)
    assert [each.partition for each in ranges] == [0, 1]
    assert sum(each.width for each in ranges) <= 101


def test_all_is_read_when_the_batch_is_large_enough():
    assert plan_batch("t", {0: 3, 1: 0}, {0: 10, 1: 4}, 1000) == [OffsetRange("t", 0, 3, 10), OffsetRange("t", 1, 0, 4)]


@given(bounds, st.integers(1, 10**6))
def test_batches_come_to_the_end_and_never_pass_it(partitions, offsets_max):
    start = {p: first for p, (first, _) in partitions.items()}
    end = {p: first + width for p, (first, width) in partitions.items()}
    for _ in range(3):
        ranges = plan_batch("t", start, end, offsets_max)
        assert all(
            each.start == start[each.partition] and each.start < each.end <= end[each.partition] for each in ranges
        )
        assert bool(ranges) == (lag_of(start, end) > 0)
        start = end_of(start, ranges)


@given(st.lists(st.integers(1, 10**5), min_size=1, max_size=8), st.integers(1, 32))
def test_a_split_covers_the_same_offsets(widths, tasks):
    ranges = [OffsetRange("t", p, 7, 7 + width) for p, width in enumerate(widths)]
    pieces = split(ranges, tasks)
    for whole in ranges:
        mine = [piece for piece in pieces if piece.partition == whole.partition]
        assert (mine[0].start, mine[-1].end) == (whole.start, whole.end)
        assert all(one.end == other.start for one, other in pairwise(mine))
        assert all(piece.width > 0 for piece in mine)
    assert len(pieces) <= tasks + len(ranges)
