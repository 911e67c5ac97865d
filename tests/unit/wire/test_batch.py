"""Batch headers: read, checked, stamped and walked without opening the records."""

import pytest

from headrace.wire.batch import (
    HEADER_SIZE,
    BatchHeader,
    CorruptBatch,
    crc_ok,
    iter_headers,
    parse_header,
    stamp,
    stamp_log_append_time,
)
from headrace.wire.records import Record, build_batch, read_records

RECORDS = [Record(timestamp=1000 + i, key=b"k%d" % i, value=b"v%d" % i) for i in range(3)]


def batch(**options):
    return bytearray(build_batch(RECORDS, **options))


def test_header_fields():
    data = batch(
        base_offset=50, leader_epoch=4, producer_id=9, producer_epoch=2, base_sequence=7, codec=4, transactional=True
    )
    header = parse_header(data)
    assert header._replace(crc=0, batch_length=0) == BatchHeader(50, 0, 4, 2, 0, 0x14, 2, 1000, 1002, 9, 2, 7, 3)
    assert (header.size, header.last_offset, header.next_offset) == (len(data), 52, 53)
    assert (header.codec, header.is_transactional, header.is_control, header.is_log_append_time) == (
        4,
        True,
        False,
        False,
    )
    assert header.last_sequence == 9


@pytest.mark.parametrize(("base", "last"), [(-1, -1), (0, 2), (2**31 - 3, 2**31 - 1), (2**31 - 2, 0), (2**31 - 1, 1)])
def test_last_sequence_wraps(base, last):
    assert parse_header(batch(base_sequence=base)).last_sequence == last


def test_header_at_a_position():
    assert parse_header(b"xyz" + batch(base_offset=5), 3).base_offset == 5


def test_short_or_negative_headers_are_corrupt():
    data = batch()
    with pytest.raises(CorruptBatch):
        parse_header(data[: HEADER_SIZE - 1])
    for length in (b"\xff\xff\xff\xff", b"\x00\x00\x00\x30"):
        data[8:12] = length
        with pytest.raises(CorruptBatch):
            parse_header(data)


def test_crc_covers_everything_from_the_attributes_on():
    data = batch(codec=1)
    assert crc_ok(data, 0, len(data))
    assert crc_ok(b"pad" + data, 3, len(data))
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 0x40
        assert crc_ok(damaged, 0, len(damaged)) == (at < 17)


@pytest.mark.parametrize("size", [-1, 0, 60])
def test_crc_of_impossible_sizes_is_wrong(size):
    data = batch()
    assert not crc_ok(data, 0, size)
    assert not crc_ok(data, 1, len(data))


def test_stamp_keeps_the_crc():
    data = bytearray(b"pad") + batch()
    stamp(memoryview(data), 3, 2**40, 17)
    header = parse_header(data, 3)
    assert (header.base_offset, header.leader_epoch) == (2**40, 17)
    assert crc_ok(data, 3, header.size)


def test_log_append_time_is_the_time_of_every_record():
    data = bytearray(b"pad") + batch(codec=3) + b"next batch"
    stamp_log_append_time(memoryview(data), 3, 5000)
    header = parse_header(data, 3)
    assert header.is_log_append_time
    assert (header.max_timestamp, header.codec) == (5000, 3)
    assert crc_ok(data, 3, header.size)
    assert [record.timestamp for record in read_records(data[3:])] == [5000] * 3


def test_iter_headers_stops_at_a_cut_batch():
    one, two, three = batch(), batch(base_offset=3, codec=2), batch(base_offset=6)
    data = one + two + three
    offsets = [(pos, header.base_offset) for pos, header in iter_headers(data)]
    assert offsets == [(0, 0), (len(one), 3), (len(one) + len(two), 6)]
    for cut in (1, len(three) - 1, len(three)):
        assert [header.base_offset for _, header in iter_headers(data[:-cut])] == [0, 3]
    assert list(iter_headers(b"")) == []


def test_iter_headers_refuses_a_length_that_leads_nowhere():
    data = batch() + batch()
    data[len(data) // 2 + 8] = 0xFF
    with pytest.raises(CorruptBatch):
        list(iter_headers(data))
