"""Rows to record batches without Spark or broker: what is sealed is read back by the wire's own decoder."""

import random
from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType, DataType, IntegerType, StringType, StructField, StructType

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.spark.sink.batches import RecordBatches
from headrace.spark.sink.columns import columns_of, rows_of
from headrace.spark.sink.encode import murmur2
from headrace.wire.batch import NOBODY, Identity, crc_ok, iter_headers
from headrace.wire.compression import CODEC_NAMES
from headrace.wire.records import Record, read_records

HEADERS = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ARROW = pa.schema(
    [
        ("topic", pa.string()),
        ("key", pa.binary()),
        ("value", pa.string()),
        ("partition", pa.int32()),
        ("headers", HEADERS),
        ("timestamp", pa.timestamp("us", "UTC")),
    ]
)
PARTITIONS = {"a": 3, "b": 1, "wide": 1000}


class Sealed:
    """What a sink would have sent."""

    def __init__(self, *, codec=0, bytes_max=4096, identity=NOBODY, is_transactional=False) -> None:
        self.sent: dict[TopicPartition, bytearray] = defaultdict(bytearray)
        self.batches = RecordBatches(
            self._send, PARTITIONS.__getitem__, identity, codec, bytes_max, 1 << 20, is_transactional
        )

    def _send(self, id: TopicPartition, batch: memoryview, release: Callable[[], None]) -> None:
        self.sent[id] += batch
        release()

    def records(self, id: TopicPartition) -> list[Record]:
        data, found = memoryview(self.sent[id]), []
        for position, header in iter_headers(data):
            assert crc_ok(data, position, header.size)
            records = read_records(data[position : position + header.size])
            assert header.max_timestamp == max(record.timestamp for record in records)
            assert [record.offset for record in records] == list(range(header.record_count))
            found += records
        return found


def sealed_rows(rows: list[dict], *, topic: str | None = None, arrow=ARROW, **how) -> Sealed:
    timed = "timestamp" in arrow.names
    columns = columns_of(from_arrow_schema(arrow), topic=topic, headers=True, timestamp=timed)
    sealed = Sealed(**how)
    # In pieces, as Spark sends them: one of them a slice, whose arrays begin somewhere in their buffers.
    whole = pa.RecordBatch.from_pylist(rows, arrow)
    third = max(1, len(rows) // 3)
    for start in range(0, len(rows), third):
        sealed.batches.add(rows_of(whole.slice(start, third), columns), topic)
    sealed.batches.flush()
    return sealed


def a_row(chance: random.Random, number: int) -> dict:
    header = {"key": chance.choice(["h", "Kopfzeile-ä", ""]), "value": chance.choice([None, b"", b"x" * 70])}
    return {
        "topic": chance.choice(["a", "b"]),
        "key": chance.choice([None, b"", chance.randbytes(chance.randrange(1, 200))]),
        "value": chance.choice([None, "", "ü" * chance.choice([1, 63, 64, 5000]), str(number)]),
        "partition": 0,
        "headers": chance.choice([None, [], [header], [header, header]]),
        "timestamp": 1_700_000_000_000_000 + chance.randrange(-(10**12), 10**12),
    }


def expected(row: dict) -> tuple:
    value = None if row["value"] is None else row["value"].encode()
    headers = [(header["key"], header["value"]) for header in row["headers"] or ()]
    return row["timestamp"] // 1000, row["key"], value, headers


@pytest.mark.parametrize("codec", range(len(CODEC_NAMES)), ids=CODEC_NAMES)
def test_records_read_back_are_the_rows(codec: int) -> None:
    chance = random.Random(codec)
    rows = [a_row(chance, number) for number in range(400)]
    sealed = sealed_rows(rows, codec=codec)
    for topic in ("a", "b"):
        read = [tuple(record[1:]) for record in sealed.records(TopicPartition(topic, 0))]
        assert read == [expected(row) for row in rows if row["topic"] == topic]


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_hash_of_a_key_is_that_of_kafkas_java_client(key: bytes, hashed: int) -> None:
    assert murmur2(np.frombuffer(b"__" + key, np.uint8), 2, len(key)) == hashed & 0x7FFFFFFF


def test_rows_with_a_key_follow_it() -> None:
    rows = [{"key": b"foobar", "value": str(number)} for number in range(100)]
    arrow = pa.schema([("key", pa.binary()), ("value", pa.string())])
    sealed = sealed_rows(rows, topic="a", arrow=arrow)
    home = TopicPartition("a", (-790332482 & 0x7FFFFFFF) % 3)
    assert [record.value for record in sealed.records(home)] == [row["value"].encode() for row in rows]


def test_rows_without_a_key_are_spread_in_runs() -> None:
    arrow = pa.schema([("value", pa.string())])
    rows = [{"value": str(number)} for number in range(900)]
    sealed = sealed_rows(rows, topic="a", arrow=arrow)
    parts = [sealed.records(TopicPartition("a", number)) for number in range(3)]
    assert [len(part) for part in parts] == [300, 300, 300]
    assert sorted(int(record.value) for part in parts for record in part) == list(range(900))


def test_few_rows_without_a_key_stay_together() -> None:
    arrow = pa.schema([("value", pa.string())])
    sealed = Sealed()
    columns = columns_of(from_arrow_schema(arrow), topic="a", headers=True, timestamp=False)
    sealed.batches.add(rows_of(pa.RecordBatch.from_pylist([{"value": "x"}] * 20, arrow), columns), "a")
    sealed.batches.flush()
    assert len(sealed.sent) == 1


def test_the_partition_column_decides_where_it_is_not_null() -> None:
    arrow = pa.schema([("key", pa.binary()), ("value", pa.string()), ("partition", pa.int32())])
    rows = [{"key": b"foobar", "value": "x", "partition": part} for part in (0, 1, 2, None)]
    sealed = sealed_rows(rows, topic="a", arrow=arrow)
    home = (-790332482 & 0x7FFFFFFF) % 3
    numbers = [len(sealed.records(TopicPartition("a", part))) for part in range(3)]
    assert numbers == [1 + (part == home) for part in range(3)]


def test_sequences_continue_from_batch_to_batch() -> None:
    arrow = pa.schema([("value", pa.string())])
    rows = [{"value": "x" * 500} for _ in range(50)]
    identity = Identity(77, 3)
    sealed = sealed_rows(rows, topic="b", arrow=arrow, identity=identity, is_transactional=True)
    headers = [header for _, header in iter_headers(sealed.sent[TopicPartition("b", 0)])]
    assert len(headers) > 5
    expected = 0
    for header in headers:
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (77, 3, expected)
        assert header.is_transactional
        expected += header.record_count


def test_a_row_larger_than_a_batch_has_one_of_its_own() -> None:
    arrow = pa.schema([("value", pa.string())])
    rows = [{"value": "x" * 500}, {"value": "y" * 10_000}, {"value": "z" * 500}]
    sealed = sealed_rows(rows, topic="b", arrow=arrow)
    assert [len(record.value) for record in sealed.records(TopicPartition("b", 0))] == [500, 10_000, 500]
    assert len(list(iter_headers(sealed.sent[TopicPartition("b", 0)]))) == 3


@pytest.mark.parametrize(("topic", "is_sent"), [("b", False), ("wide", True)])
def test_open_batches_share_a_fixed_amount_of_memory(topic: str, is_sent: bool) -> None:
    arrow = pa.schema([("value", pa.string()), ("partition", pa.int32())])
    columns = columns_of(from_arrow_schema(arrow), topic=topic, headers=True, timestamp=False)
    sealed = Sealed(bytes_max=1 << 20)
    rows = pa.RecordBatch.from_pylist([{"value": "x" * 1000, "partition": 0}] * 20, arrow)
    sealed.batches.add(rows_of(rows, columns), topic)
    assert bool(sealed.sent) == is_sent
    sealed.batches.flush()
    assert len(sealed.records(TopicPartition(topic, 0))) == 20


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([{"topic": None, "value": "x"}], "a row has no topic"),
        ([{"topic": "b", "value": "x", "partition": 1}], "has 1, but topic b has 1 partitions"),
        ([{"topic": "b", "value": "x", "partition": -1}], "has -1"),
        ([{"topic": "b", "value": "x", "headers": [{"key": None, "value": b""}]}], "a header has no key"),
        ([{"topic": "b", "value": "x", "timestamp": None}], "a row has no timestamp"),
    ],
)
def test_rows_that_cannot_be_written_are_named(rows: list[dict], message: str) -> None:
    full = [{"partition": 0, "headers": None, "timestamp": 0, **row} for row in rows]
    with pytest.raises(UserError, match=message):
        sealed_rows(full)


STRING = StringType()


def a_schema(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (a_schema(key=STRING), "needs a column `value`"),
        (a_schema(value=IntegerType()), "column `value` is int"),
        (a_schema(value=STRING, key=a_schema(a=IntegerType())), "column `key` is struct<a:int>"),
        (a_schema(value=STRING, partition=STRING), "column `partition` is string"),
        (a_schema(value=STRING, headers=ArrayType(STRING)), "column `headers` is array<string>"),
    ],
)
def test_a_schema_that_cannot_be_written_is_explained(schema: StructType, message: str) -> None:
    with pytest.raises(UserError, match=message):
        columns_of(schema, topic="a", headers=True, timestamp=False)


def test_without_topic_option_and_column_the_sink_asks_for_one() -> None:
    with pytest.raises(UserError, match="does not know where to write"):
        columns_of(a_schema(value=STRING), topic=None, headers=True, timestamp=False)
