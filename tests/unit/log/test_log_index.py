"""The sparse index: look-ups against a linear search, and its file."""

from hypothesis import given
from hypothesis import strategies as st

from headrace.log.envelope import unwrap, wrap
from headrace.log.index import (
    MARKS_MAX,
    SUMMARY_BYTES,
    IndexSummary,
    SparseIndex,
    decode_index,
    decode_summary,
    encode_index,
)

Rows = list[tuple[int, int, int]]


@st.composite
def rows(draw: st.DrawFn) -> Rows:
    steps = draw(st.lists(st.tuples(st.integers(1, 50), st.integers(61, 9000), st.integers(0, 20)), max_size=30))
    made: Rows = []
    offset = position = 0
    timestamp = -1
    for offsets, size, ms in steps:
        offset, position, timestamp = offset + offsets, position + size, timestamp + ms
        made.append((offset, position, timestamp))
    return made


def built(made: Rows) -> SparseIndex:
    index = SparseIndex()
    for row in made:
        index.add(*row)
    return index


@given(rows(), st.integers(0, 1600))
def test_offset_look_up_is_the_last_entry_at_or_before(made: Rows, offset: int) -> None:
    expected = [position for first, position, _ in made if first <= offset]
    assert built(made).position_before(offset) == (expected[-1] if expected else 0)


@given(rows(), st.integers(-1, 700))
def test_time_look_up_starts_after_what_is_all_older(made: Rows, timestamp: int) -> None:
    expected = [position for _, position, newest_before in made if newest_before < timestamp]
    assert built(made).position_before_time(timestamp) == (expected[-1] if expected else 0)


@given(rows(), st.integers(0, 200_000), st.integers(0, 200_000))
def test_boundary_is_the_last_entry_in_the_stretch(made: Rows, start: int, length: int) -> None:
    expected = [(position, offset) for offset, position, _ in made if start < position <= start + length]
    assert built(made).boundary_within(start, start + length) == (expected[-1] if expected else None)


@given(rows(), st.integers(0, 200_000))
def test_cut_forgets_everything_from_the_end_on(made: Rows, end: int) -> None:
    index = built(made)
    index.mark(3, 100)
    index.cut(end)
    assert list(zip(index.offsets, index.positions, index.timestamps, strict=True)) == [r for r in made if r[1] < end]
    assert not index.marks


@given(rows())
def test_a_file_gives_back_what_was_written(made: Rows) -> None:
    summary = IndexSummary(7, 1 << 33, 99, 12345, 6789, len(made))
    content = encode_index(built(made), summary)
    loaded = decode_index(content)
    assert loaded is not None
    assert loaded[0] == decode_summary(content[:SUMMARY_BYTES]) == summary
    index = loaded[1]
    assert list(zip(index.offsets, index.positions, index.timestamps, strict=True)) == made


def test_any_flipped_bit_and_any_cut_is_seen() -> None:
    content = encode_index(built([(1, 100, 5), (9, 300, 7)]), IndexSummary(0, 400, 12, 9, 0, 2))
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 0x10
        assert decode_index(bytes(damaged)) is None
        assert decode_index(content[:position]) is None
        if position < SUMMARY_BYTES:
            assert decode_summary(bytes(damaged[:SUMMARY_BYTES])) is None


def test_marks_are_bounded_and_the_oldest_go_first() -> None:
    index = SparseIndex()
    for offset in range(3 * MARKS_MAX):
        index.mark(offset, offset * 10)
    assert list(index.marks) == list(range(2 * MARKS_MAX, 3 * MARKS_MAX))


def test_an_envelope_of_another_kind_or_version_is_refused() -> None:
    wrapped = wrap(b"HRxx", 1, b"content")
    assert unwrap(b"HRxx", 1, wrapped) == b"content"
    assert unwrap(b"HRyy", 1, wrapped) is None
    assert unwrap(b"HRxx", 2, wrapped) is None
    assert unwrap(b"HRxx", 1, wrapped + b"!") is None
    assert unwrap(b"HRxx", 1, b"") is None
