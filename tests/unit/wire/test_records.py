"""Records against the encoders and decoders of real clients, and against damage."""

import random

import pytest
from aiokafka.record.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kio.records.readers import read_batch as kio_read_batch

from headrace.wire.batch import HEADER_SIZE, CorruptBatch, crc_ok, parse_header
from headrace.wire.compression import CODEC_NAMES
from headrace.wire.records import Marker, Record, build_batch, build_marker, iter_offsets, read_marker, read_records
from headrace.wire.varint import read_varint, zigzag

CODECS = range(len(CODEC_NAMES))
RECORDS = [
    Record(0, 1_700_000_000_000, b"key", b"value", []),
    Record(1, 1_700_000_000_500, None, b"x" * 300, [("trace", b"\x00\xff"), ("none", None)]),
    Record(2, 1_699_999_999_000, b"", None, [("naïve", b"")]),
    Record(3, 1_700_000_700_000, b"k" * 70, b"", []),
]


def built_by(builder_class, codec):
    builder = builder_class(
        magic=2,
        compression_type=codec,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for record in RECORDS:
        headers = [(name, value) for name, value in record.headers]
        builder.append(record.offset, timestamp=record.timestamp, key=record.key, value=record.value, headers=headers)
    return bytes(builder.build())


@pytest.mark.parametrize("codec", CODECS)
def test_round_trip(codec):
    data = build_batch(RECORDS, codec=codec)
    assert parse_header(data).codec == codec
    assert crc_ok(data, 0, len(data))
    assert read_records(data) == RECORDS
    assert list(iter_offsets(data)) == [(record.offset, record.timestamp) for record in RECORDS]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("builder_class", [KafkaPythonBuilder, AiokafkaBuilder])
def test_batches_of_other_clients_are_read(builder_class, codec):
    assert read_records(built_by(builder_class, codec)) == RECORDS


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("batch_class", [KafkaPythonBatch, AiokafkaBatch])
def test_other_clients_read_our_batches(batch_class, codec):
    theirs = batch_class(bytearray(build_batch(RECORDS, codec=codec)))
    assert theirs.validate_crc()
    found = [Record(r.offset, r.timestamp, r.key, r.value, list(r.headers)) for r in theirs]
    assert found == RECORDS


@pytest.mark.parametrize("builder_class", [KafkaPythonBuilder, AiokafkaBuilder])
def test_uncompressed_batches_are_byte_for_byte_those_of_other_clients(builder_class):
    theirs = built_by(builder_class, 0)
    ours = build_batch(RECORDS, leader_epoch=parse_header(theirs).leader_epoch)
    assert ours == theirs


def test_kio_reads_our_batches():
    data = build_batch([record._replace(offset=-1) for record in RECORDS], base_offset=90, producer_id=5)
    batch, size = kio_read_batch(data, 0)
    assert (batch.base_offset, batch.producer_id, size) == (90, 5, len(data))
    assert [(record.key, record.value) for record in batch.records] == [(r.key, r.value) for r in RECORDS]


@settings(max_examples=50, derandomize=True, deadline=None, database=None)
@given(
    st.lists(
        st.builds(
            Record,
            offset=st.just(-1),
            timestamp=st.integers(0, 2**60),
            key=st.none() | st.binary(max_size=10),
            value=st.none() | st.binary(max_size=200),
            headers=st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=3)), max_size=3),
        ),
        min_size=1,
        max_size=5,
    ),
    st.integers(0, 2**62),
    st.sampled_from(CODECS),
)
def test_any_records_round_trip(records, base_offset, codec):
    expected = [record._replace(offset=base_offset + i) for i, record in enumerate(records)]
    assert read_records(build_batch(records, base_offset=base_offset, codec=codec)) == expected


def test_offsets_with_gaps_stay_as_compaction_left_them():
    kept = [Record(offset=12, timestamp=1, value=b"a"), Record(offset=17, timestamp=2, value=b"b")]
    data = build_batch(kept, base_offset=10, last_offset_delta=9)
    assert [record.offset for record in read_records(data)] == [12, 17]
    assert parse_header(data).next_offset == 20


def test_an_offset_before_the_batch_is_refused():
    with pytest.raises(ValueError, match="offset 9"):
        build_batch([Record(offset=9)], base_offset=10)


def test_an_emptied_batch_is_readable():
    for codec in CODECS:
        data = build_batch([], codec=codec, base_offset=10, last_offset_delta=4)
        assert read_records(data) == []
        assert parse_header(data).next_offset == 15
        assert crc_ok(data, 0, len(data))


@pytest.mark.parametrize("marker", [Marker(True, 3), Marker(False, 2**31 - 1)])
def test_markers(marker):
    data = build_marker(marker, producer_id=7, producer_epoch=1, timestamp=99, base_offset=5, leader_epoch=2)
    header = parse_header(data)
    assert (header.attributes, header.base_sequence, header.record_count, header.next_offset) == (0x30, -1, 1, 6)
    assert read_marker(data) == marker
    [record] = read_records(data)
    assert record.key == bytes([0, 0, 0, marker.commit])
    assert record.value == b"\0\0" + marker.coordinator_epoch.to_bytes(4, "big")


def test_other_control_records_are_no_markers():
    assert read_marker(build_batch([Record(key=b"\0\0\0\2", value=b"\0" * 6)], control=True)) is None
    assert read_marker(build_batch([], control=True)) is None
    with pytest.raises(CorruptBatch):
        read_marker(build_batch([Record(key=b"\0\0\0", value=b"\0" * 6)], control=True))


@pytest.mark.parametrize("codec", CODECS[1:])
def test_a_bomb_is_refused_at_the_limit(codec):
    data = build_batch([Record(value=bytes(1_000_000))], codec=codec)
    assert len(data) < 100_000
    with pytest.raises(CorruptBatch):
        read_records(data, max_bytes=999_999)
    assert len(read_records(data, max_bytes=1_100_000)[0].value) == 1_000_000


def test_damaged_batches_are_refused_or_read_but_nothing_else():
    rng = random.Random(3)
    refused = 0
    for codec in CODECS:
        data = build_batch(RECORDS, codec=codec)
        for _ in range(300):
            damaged = bytearray(data)
            damaged[rng.randrange(61, len(data))] = rng.randrange(256)
            try:
                read_records(damaged)
            except CorruptBatch:
                refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("at", "value"),
    [
        pytest.param(slice(16, 17), b"\x01", id="magic"),
        pytest.param(slice(57, 61), b"\xff\xff\xff\xff", id="negative count"),
        pytest.param(slice(57, 61), b"\x7f\xff\xff\xff", id="count above the records"),
        pytest.param(slice(61, 62), b"\x01", id="negative record length"),
        pytest.param(slice(61, 63), b"\xff\x7f", id="record past the end"),
        pytest.param(slice(61, None), b"\xff" * 12, id="endless number"),
        pytest.param(slice(22, 23), b"\x07", id="unknown codec"),
        pytest.param(slice(22, 23), b"\x04", id="not what the codec says"),
    ],
)
def test_what_is_no_batch_is_corrupt(at, value):
    data = bytearray(build_batch(RECORDS))
    data[at] = value
    with pytest.raises(CorruptBatch):
        read_records(data)


def test_fields_may_not_reach_past_their_record():
    data = bytearray(build_batch([Record(value=b"a", headers=[("h", b"zz")]), Record(value=b"b" * 30)]))
    assert len(read_records(data)) == 2
    data[data.index(b"zz") - 1] = 2 * 20
    with pytest.raises(CorruptBatch, match="past its record"):
        read_records(data)


def test_a_negative_number_of_headers_is_corrupt():
    data = bytearray(build_batch([Record(value=b"a")]))
    data[-1] = 1
    with pytest.raises(CorruptBatch, match="-1 headers"):
        read_records(data)


def test_a_cut_batch_is_corrupt():
    data = build_batch(RECORDS)
    for end in (0, 60, 61, len(data) - 1):
        with pytest.raises(CorruptBatch):
            read_records(data[:end])


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (0, b"\0"),
        (-1, b"\1"),
        (1, b"\2"),
        (63, b"\x7e"),
        (-64, b"\x7f"),
        (64, b"\x80\1"),
        (-(2**63), b"\xff" * 9 + b"\1"),
    ],
)
def test_varints(value, data):
    assert zigzag(value) == data
    assert read_varint(b"x" + data, 1) == (value, 1 + len(data))


def test_a_record_that_claims_an_offset_below_zero_is_still_a_record_of_its_batch():
    batch = bytearray(build_batch([Record(timestamp=0, value=b"v")]))
    # Its length, attributes and timestamp come before the offset: -1.
    batch[HEADER_SIZE + 3] = 1
    assert [record.offset for record in read_records(batch)] == [-1]
