"""What a GET shows of batches: the loop for plain records shows the same as the one for all others."""

import contextlib
from typing import Any, get_args

import orjson
import pytest
from crc32c import crc32c
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.gateway.messages.outgoing import Encoding, render_record
from headrace.gateway.messages.rendering import Rendering
from headrace.wire.batch import CRC_START, HEADER_SIZE, CorruptBatch, parse_header
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
@example([(b"k", b"v", [], 0)] * 8300, "auto", 0, 110)
@example([(None, b"x" * 3000, [], 0)] * 100, "text", 0, 110)
def test_all_records_look_as_they_do_one_by_one(
    drafted: list[tuple[Any, ...]], encoding: Encoding, codec: int, first_offset: int
) -> None:
    batch = batch_of(drafted, codec)
    rendering = Rendering(encoding, 10_000, 1 << 30)
    rendering.add(parse_header(batch), batch, first_offset)
    wanted = [each for each in read_records(batch) if each.offset >= first_offset]
    # Compared as they are sent: the order of fields is part of it.
    assert [orjson.dumps(each) for each in rendering.messages] == [
        orjson.dumps(render_record(each, encoding)) for each in wanted
    ]
    assert rendering.size == sum(
        len(each.value or b"")
        + len(each.key or b"")
        + sum(len(name) + len(value or b"") for name, value in each.headers)
        for each in wanted
    )


@pytest.mark.parametrize("odd", [None, 25])
def test_it_ends_where_it_is_full(odd: int | None) -> None:
    drafted = [(b"k", b"{}" if number == odd else b"v" * 9, [], 0) for number in range(50)]
    by_count, by_size = Rendering("auto", 30, 1 << 20), Rendering("auto", 1000, 250)
    for rendering in (by_count, by_size):
        batch = batch_of(drafted)
        rendering.add(parse_header(batch), batch, 110)
        assert rendering.is_full
    assert [each["offset"] for each in by_count.messages] == list(range(110, 140))
    assert by_count.next_offset == 140
    assert 250 <= by_size.size < 260


@given(st.data())
def test_damage_is_said_to_be_damage(data: st.DataObject) -> None:
    whole = bytearray(batch_of([(b"key", b"value", [], 0)] * 3))
    at = data.draw(st.integers(CRC_START - 4, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    with pytest.raises(CorruptBatch, match="at offset 100"):
        Rendering("auto", 1000, 1 << 30).add(parse_header(whole), memoryview(whole), 0)


def sealed(whole: bytearray) -> memoryview:
    whole[CRC_START - 4 : CRC_START] = crc32c(whole[CRC_START:]).to_bytes(4, "big")
    return memoryview(whole)


@given(st.data())
def test_what_a_producer_got_wrong_is_shown_as_other_readers_see_it(data: st.DataObject) -> None:
    """The CRC is that of its bytes, which are nonsense. Nothing but its own page suffers."""
    whole = bytearray(batch_of([(b"key", b"value", [], 0)] * 70))
    for _ in range(data.draw(st.integers(1, 5))):
        whole[data.draw(st.integers(HEADER_SIZE, len(whole) - 1))] = data.draw(st.integers(0, 255))
    batch = sealed(whole)
    rendering = Rendering("auto", 1000, 1 << 30)
    with contextlib.suppress(CorruptBatch):
        rendering.add(parse_header(whole), batch, 0)
    assert len(rendering.messages) <= 70
    try:
        records = read_records(batch)
    except CorruptBatch:
        return
    # A record's place counts, not the number that a producer gave it.
    if [record.offset for record in records] == list(range(100, 170)):
        assert rendering.messages == [render_record(record) for record in records]


def test_bytes_after_a_value_are_no_record() -> None:
    """Its length says that they belong to the record before."""
    forged = b"\x14\0\0\2\1\x0cFORGED\0"
    first = b"\0\0\0\1\x0areal0\0" + forged
    second = b"\0\0\2\1\x0areal1\0"
    body = bytes([len(first) << 1]) + first + bytes([len(second) << 1]) + second
    head = bytearray(batch_of([(None, b"value", [], 0)] * 2)[:HEADER_SIZE])
    head[8:12] = (HEADER_SIZE - 12 + len(body)).to_bytes(4, "big")
    batch = sealed(head + body)
    for encoding in ENCODINGS:
        rendering = Rendering(encoding, 10, 1 << 20)
        with contextlib.suppress(CorruptBatch):
            rendering.add(parse_header(batch), batch, 101)
        assert "FORGED" not in str(rendering.messages)


def test_headers_count_for_the_size_of_a_page() -> None:
    batch = batch_of([(None, b"v", [("h", b"x" * 99)], 0)] * 50)
    rendering = Rendering("auto", 1000, 1010)
    rendering.add(parse_header(batch), batch, 0)
    assert len(rendering.messages) == 10
