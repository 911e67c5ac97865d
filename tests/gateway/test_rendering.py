"""What a GET shows of batches: the loop for plain records shows the same as the one for all others."""

from typing import Any, get_args

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.gateway.messages.outgoing import Encoding, render_record
from headrace.gateway.messages.rendering import Rendering
from headrace.wire.batch import HEADER_SIZE, CorruptBatch
from headrace.wire.records import Record, build_batch, read_records

ENCODINGS = get_args(Encoding)
BASE_MS = 1_700_000_000_000
contents = st.one_of(
    st.none(),
    st.binary(max_size=40),
    st.text(max_size=20).map(str.encode),
    st.sampled_from([b"", b"{}", b"[1]", b"{not json", b"x" * 200, b"x" * 9000, "ü".encode() * 100]),
)
headers = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=2)
drafts = st.lists(st.tuples(contents, contents, headers, st.integers(-100_000, 100_000)), min_size=1, max_size=80)


def batch_of(drafted: list[tuple[Any, ...]], codec: int = 0) -> memoryview:
    records = [Record(-1, BASE_MS + time, key, value, headers) for key, value, headers, time in drafted]
    return memoryview(build_batch(records, base_offset=100, codec=codec))


@given(drafts, st.sampled_from(ENCODINGS), st.integers(0, 4), st.integers(95, 190))
@example([(b"k", b"v", [], 0)] * 70, "auto", 0, 133)
def test_all_records_look_as_they_do_one_by_one(
    drafted: list[tuple[Any, ...]], encoding: Encoding, codec: int, first_offset: int
) -> None:
    batch = batch_of(drafted, codec)
    rendering = Rendering(encoding, 1000, 1 << 30)
    rendering.add(batch, first_offset)
    wanted = [each for each in read_records(batch) if each.offset >= first_offset]
    # Compared as they are sent: the order of fields is part of it.
    assert [orjson.dumps(each) for each in rendering.messages] == [
        orjson.dumps(render_record(each, encoding)) for each in wanted
    ]
    assert rendering.size == sum(len(each.value or b"") + len(each.key or b"") for each in wanted)


@pytest.mark.parametrize("odd", [None, 25])
def test_it_ends_where_it_is_full(odd: int | None) -> None:
    drafted = [(b"k", b"{}" if number == odd else b"v" * 9, [], 0) for number in range(50)]
    by_count, by_size = Rendering("auto", 30, 1 << 20), Rendering("auto", 1000, 250)
    for rendering in (by_count, by_size):
        rendering.add(batch_of(drafted), 110)
        assert rendering.is_full
    assert [each["offset"] for each in by_count.messages] == list(range(110, 140))
    assert by_count.next_offset == 140
    assert 250 <= by_size.size < 260


@given(st.data())
def test_damage_is_said_to_be_damage(data: st.DataObject) -> None:
    """Whatever is changed: its records are shown, or the batch is called corrupt. One that says it lies before the one
    in front of it may be passed over."""
    whole = bytearray(batch_of([(b"key", b"value", [], 0)] * 3))
    at = data.draw(st.integers(HEADER_SIZE, len(whole) - 1))
    whole[at] = data.draw(st.integers(0, 255))
    batch = memoryview(whole)
    try:
        expected = [render_record(each) for each in read_records(batch)]
    except CorruptBatch:
        expected = None
    rendering = Rendering("auto", 1000, 1 << 30)
    try:
        rendering.add(batch, 0)
    except CorruptBatch:
        assert expected is None
    else:
        offsets = [each["offset"] for each in expected or ()]
        assert offsets != sorted(set(offsets)) or expected is None or rendering.messages == expected
