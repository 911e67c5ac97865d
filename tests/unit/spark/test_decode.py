"""Record batches to Arrow: what the plain decoder of `headrace.wire` reads, whatever the bytes."""

import random
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import AbortedRecords, Fetched
from headrace.spark.source import decode
from headrace.spark.source.decode import DamagedBatch, Decoder
from headrace.wire.batch import HEADER_SIZE, CorruptBatch, iter_headers, stamp_log_append_time
from headrace.wire.records import Marker, Record, build_batch, build_marker, read_records

ID = TopicPartition("orders", 3)
HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
        ("headers", HEADERS),
    ]
)
END = 1 << 60


def fetched(data: bytes, aborted: Sequence[AbortedRecords] = ()) -> Fetched:
    return Fetched(memoryview(data), END, END, 0, tuple(aborted), END)


def rows(
    data: bytes, first: int = 0, limit: int = END, aborted: Sequence[AbortedRecords] = (), schema=SCHEMA, **options
):
    batches = list(Decoder(ID, schema, **options).decode(fetched(data, aborted), first, limit))
    for batch in batches:
        batch.validate(full=True)
        assert batch.schema == schema
    return [row for batch in batches for row in batch.to_pylist()]


def expected(record: Record, timestamp_type: int = 0):
    return {
        "key": record.key,
        "value": record.value,
        "topic": ID.topic,
        "partition": ID.partition,
        "offset": record.offset,
        "timestamp": record.timestamp * 1000,
        "timestampType": timestamp_type,
        "headers": [{"key": name, "value": value} for name, value in record.headers] or None,
    }


def told(found):
    return [{**row, "timestamp": pa.scalar(row["timestamp"], SCHEMA.field("timestamp").type).value} for row in found]


contents = st.one_of(st.none(), st.binary(max_size=40))
records = st.builds(
    Record,
    offset=st.just(-1),
    timestamp=st.integers(0, 4_000_000_000_000),
    key=contents,
    value=st.one_of(contents, st.binary(min_size=200, max_size=300)),
    headers=st.lists(st.tuples(st.text(max_size=5), contents), max_size=3),
)
batches = st.lists(st.tuples(st.lists(records, min_size=1, max_size=5), st.integers(0, 4)), min_size=1, max_size=6)


def log_of(batches) -> bytes:
    data, offset = b"", 0
    for its_records, codec in batches:
        data += build_batch(its_records, codec=codec, base_offset=offset)
        offset += len(its_records)
    return data


def read_plainly(data: bytes) -> list[Record]:
    return [record for start, _ in iter_headers(data) for record in read_records(data[start:])]


@settings(deadline=None)
@given(batches, st.data())
def test_the_same_records_as_the_plain_decoder(batches, data):
    log = log_of(batches)
    plain = read_plainly(log)
    first = data.draw(st.integers(0, len(plain)))
    limit = data.draw(st.integers(first, len(plain)))
    assert told(rows(log, first, limit)) == [expected(record) for record in plain[first:limit]]


@settings(deadline=None, max_examples=100)
@given(batches, st.randoms(use_true_random=False))
def test_damage_is_found_and_never_becomes_a_row(batches, chance: random.Random):
    log = bytearray(log_of(batches))
    # The base offset, the length and the leader's epoch lie before what the checksum covers.
    covered = [i for start, header in iter_headers(log) for i in range(start + 21, start + header.size)]
    log[chance.choice(covered)] ^= 1 << chance.randrange(8)
    with pytest.raises(DamagedBatch, match="orders-3: the batch at offset"):
        rows(bytes(log))


@settings(deadline=None, max_examples=200)
@given(st.lists(records, min_size=1, max_size=4), st.randoms(use_true_random=False), st.integers(1, 4))
def test_a_batch_that_lies_is_refused_or_read_as_the_plain_decoder_reads_it(its_records, chance, changes):
    """Damage behind a right checksum, as a broken producer sends it: no bytes of one record in another."""
    batch = bytearray(build_batch(its_records))
    for _ in range(changes):
        batch[chance.randrange(HEADER_SIZE, len(batch))] = chance.choice([0, 1, 2, 127, 128, 255])
    forged = sealed(batch)
    try:
        plain = read_records(forged)
    except CorruptBatch:
        plain = None
    try:
        found = rows(forged, first=-END)
    except (DamagedBatch, pa.ArrowInvalid):
        # Stricter than the plain decoder, which takes numbers beyond 64 bits and headers without a name.
        return
    if plain is not None:
        kept = [expected(record) for record in plain if -END <= record.offset < END]
        strip = [{**row, "timestamp": None} for row in told(found)]
        assert strip == [{**row, "timestamp": None} for row in kept]


def sealed(batch: bytearray) -> bytes:
    from crc32c import crc32c

    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


def test_a_schema_of_few_columns_in_another_order():
    log = log_of([([Record(timestamp=7, key=b"k", value=b"v")], 0)])
    schema = pa.schema([("value", pa.string()), ("offset", pa.int64())])
    assert rows(log, schema=schema) == [{"value": "v", "offset": 0}]


def test_the_brokers_time_is_the_time_of_every_record():
    batch = bytearray(build_batch([Record(timestamp=5), Record(timestamp=6)]))
    stamp_log_append_time(batch, 0, 1_700_000_000_000)
    assert [(row["timestamp"], row["timestampType"]) for row in told(rows(bytes(batch)))] == [
        (1_700_000_000_000_000, 1)
    ] * 2


def test_control_batches_and_aborted_transactions_are_left_out():
    def batch(base, producer, value, transactional=True):
        return build_batch([Record(value=value)], base_offset=base, producer_id=producer, transactional=transactional)

    def marker(base, producer, commit):
        return build_marker(Marker(commit, 0), producer_id=producer, producer_epoch=0, timestamp=1, base_offset=base)

    log = b"".join(
        [
            batch(0, 1, b"aborted"),
            batch(1, 2, b"committed"),
            batch(2, 1, b"aborted too"),
            batch(3, -1, b"plain", transactional=False),
            marker(4, 1, False),
            batch(5, 1, b"next transaction"),
            marker(6, 2, True),
            marker(7, 1, True),
        ]
    )
    aborted = [AbortedRecords(1, 0)]
    values = [row["value"] for row in rows(log, aborted=aborted)]
    assert values == [b"committed", b"plain", b"next transaction"]
    everything = [row["value"] for row in rows(log, aborted=aborted, read_committed=False)]
    assert everything == [b"aborted", b"committed", b"aborted too", b"plain", b"next transaction"]


def test_compressed_data_becomes_several_arrow_batches(monkeypatch):
    monkeypatch.setattr(decode, "UNPACKED_BYTES", 10_000)
    log = log_of([([Record(value=bytes(4_000))], 4)] * 10)
    assert len(log) < 2_000
    found = list(Decoder(ID, SCHEMA).decode(fetched(log), 0, END))
    assert [batch.num_rows for batch in found] == [3, 3, 3, 1]


def test_a_bomb_is_refused(monkeypatch):
    monkeypatch.setattr(decode, "UNPACKED_BYTES_MAX", 100_000)
    with pytest.raises(DamagedBatch, match="larger than 100000 bytes"):
        rows(build_batch([Record(value=bytes(1_000_000))], codec=4))


def test_a_count_that_no_batch_could_hold_costs_no_memory():
    batch = bytearray(build_batch([Record(value=b"v")]))
    batch[57:61] = (2**31 - 1).to_bytes(4, "big")
    with pytest.raises(DamagedBatch, match="as many records as it claims"):
        rows(sealed(batch))


def test_bytes_that_are_no_batch_and_a_format_of_the_past():
    batch = build_batch([Record(value=b"v")])
    with pytest.raises(DamagedBatch, match="offset 1 cannot be read: its length"):
        rows(batch + b"\0" * 30)
    with pytest.raises(DamagedBatch, match="format of Kafka before"):
        rows(batch[:16] + b"\1" + batch[17:])


def test_a_time_beyond_microseconds_is_the_last_that_there_is():
    batch = build_batch([Record(timestamp=2**62)])
    (row,) = rows(batch, schema=pa.schema([("offset", pa.int64())]))
    assert row == {"offset": 0}
    (found,) = Decoder(ID, SCHEMA).decode(fetched(batch), 0, END)
    assert found.column("timestamp").cast(pa.int64())[0].as_py() == (2**63 - 1) // 1000 * 1000
