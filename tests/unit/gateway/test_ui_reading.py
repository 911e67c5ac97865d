"""What a look at messages holds: the first in its order, within a count and a number of bytes."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.base.ids import TopicPartition
from headrace.gateway.ui import reading
from headrace.gateway.ui.reading import FoundMessage, Shortlist
from headrace.wire.records import Record

MB = 1_000_000


def message(timestamp: int, offset: int, size_bytes: int = 1) -> FoundMessage:
    return FoundMessage(
        TopicPartition("orders", 0), Record(offset=offset, timestamp=timestamp, value=bytes(size_bytes))
    )


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0, MB, 3 * MB, 9 * MB])), max_size=12),
    st.integers(1, 8),
    st.booleans(),
)
def test_what_is_held_is_what_a_sort_of_everything_would_begin_with(
    offered: list[tuple[int, int]], limit: int, newest_first: bool
) -> None:
    every = [message(timestamp, offset, size) for offset, (timestamp, size) in enumerate(offered)]
    held = Shortlist(limit, newest_first=newest_first)
    for each in every:
        held.offer(each)
    ordered = sorted(every, key=lambda each: (each.record.timestamp, each.record.offset), reverse=newest_first)
    first: list[FoundMessage] = []
    while len(first) < min(limit, len(ordered)):
        total = sum(each.size_bytes for each in ordered[: len(first) + 1])
        if first and total > reading.HELD_BYTES_MAX:
            break
        first.append(ordered[len(first)])
    assert held.messages() == first
    assert held.is_heavy == (len(first) < min(limit, len(ordered)))


def test_the_size_of_a_message_is_all_that_it_carries() -> None:
    record = Record(key=b"abc", value=None, headers=[("name", b"12"), ("empty", None)])
    assert FoundMessage(TopicPartition("orders", 0), record).size_bytes == 3 + 4 + 2 + 5
