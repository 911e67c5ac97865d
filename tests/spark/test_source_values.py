"""Values as columns: JSON and Avro, what does not parse, and where it goes."""

import io
import json

import fastavro
import pyarrow as pa
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from test_source import failure

from headrace.base.errors import UserError
from headrace.spark.values.parse import AvroRows, JsonRows
from headrace.spark.values.type_text import struct_from_avro, struct_from_text

JSON = JsonRows(pa.schema([("id", pa.int64()), ("name", pa.string())]))
AVRO_TEXT = json.dumps(
    {
        "type": "record",
        "name": "order",
        "fields": [{"name": "id", "type": "long"}, {"name": "name", "type": ["null", "string"]}],
    }
)


def avro(record):
    out = io.BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(json.loads(AVRO_TEXT)), record)
    return out.getvalue()


def test_types_from_text():
    text = "id bigint, `a b` string, tags array<string>, price decimal(10,2), at struct<x:int,y:map<string,double>>"
    told = "id:bigint,a b:string,tags:array<string>,price:decimal(10,2),at:struct<x:int,y:map<string,double>>"
    assert struct_from_text(text).simpleString() == f"struct<{told}>"
    assert struct_from_avro(AVRO_TEXT).simpleString() == "struct<id:bigint,name:string>"


@pytest.mark.parametrize("text", ["", "id", "id colour", "id int,", "id array<int", "id int) x", "id decimal(a,2)"])
def test_text_that_is_no_type(text):
    with pytest.raises(UserError, match="was expected at"):
        struct_from_text(text)


def test_json_values_that_parse_and_those_that_do_not():
    values = [
        b'{"id": 1, "name": "one", "more": [1, {"x": 2}]}',
        None,
        b'{"id": "two"}',
        b"",
        b'{"id": 3} {"id": 4}',
        b'{\n  "id": 5\n}\n',
        b'{"id": 6',
        b"[7]",
        b'{"name": "\xff"}',
    ]
    rows, reasons = JSON.parse(values)
    assert [row["id"] for row in rows.to_pylist()] == [1, None, None, None, None, 5, None, None, None]
    assert [reason is None for reason in reasons[:8]] == [True, True, False, False, False, True, False, False]
    assert (reasons[4], reasons[8]) == ("2 JSON objects in one value", "not UTF-8")
    assert "changed from number to string" in reasons[2]


def test_halves_of_two_values_are_not_one():
    rows, reasons = JSON.parse([b'{"id": 1, "name": {"x": 1}', b'{"id": 2}', b'{"id": 3, "x": "}', b'{"id": 4}'])
    assert [row["id"] for row in rows.to_pylist()] == [None, 2, None, 4]
    assert [reason is None for reason in reasons] == [False, True, False, True]


def test_avro_values_that_parse_and_those_that_do_not():
    parser = AvroRows(AVRO_TEXT, JSON._schema)
    good = avro({"id": 7, "name": None})
    rows, reasons = parser.parse([good, None, good + b"x", b"", avro({"id": 8, "name": "n"})])
    assert [row["id"] for row in rows.to_pylist()] == [7, None, None, None, 8]
    assert [reason is None for reason in reasons] == [True, True, False, False, True]
    assert parser.parse([]).rows.num_rows == 0


def test_a_topic_of_json_as_a_table(spark, broker, new_topic):
    topic, dead = new_topic(retention_ms="-1"), new_topic(retention_ms="-1")
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    values = [b'{"id": 1, "name": "one"}', b"not json", b'{"id": 3, "name": "three"}', None]
    for i, value in enumerate(values):
        producer.produce(topic, value, f"k{i}".encode(), headers=[("n", b"1")])
    assert producer.flush(60) == 0
    options = {
        "kafka.bootstrap.servers": broker.bootstrap,
        "subscribe": topic,
        "valueFormat": "json",
        "valueSchema": "id bigint, name string",
    }
    frame = spark.read.format("headrace").options(**options).load()
    rows = frame.select("offset", "id", "name", "valueError").orderBy("offset").collect()
    assert [tuple(row) for row in rows] == [
        (0, 1, "one", None),
        (1, None, None, "not a JSON object"),
        (2, 3, "three", None),
        (3, None, None, None),
    ]
    pruned = spark.read.format("headrace").options(**options, deadLetterTopic=dead).schema("name string, offset bigint")
    assert sorted((row.offset, row.name) for row in pruned.load().collect()) == [(0, "one"), (2, "three"), (3, None)]
    letter = read_one(broker.bootstrap, dead)
    assert (letter.key(), letter.value()) == (b"k1", b"not json")
    told = dict(letter.headers())
    assert told["n"] == b"1" and told["headrace.reason"] == b"not a JSON object"
    assert (told["headrace.topic"], told["headrace.partition"], told["headrace.offset"]) == (topic.encode(), b"0", b"1")


def read_one(bootstrap, topic):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "x", "log_level": 0})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        (message,) = consumer.consume(1, timeout=60)
        assert message.error() is None
        return message
    finally:
        consumer.close()


def test_options_that_do_not_fit_together(spark, broker, new_topic):
    def said(**options):
        reader = spark.read.format("headrace").option("kafka.bootstrap.servers", broker.bootstrap)
        return failure(lambda: reader.options(**options).option("subscribe", "t").load())

    assert "need a valueFormat" in said(valueSchema="id int")
    assert "needs a valueSchema" in said(valueFormat="json")
    assert "valueFormat=xml does not exist" in said(valueFormat="xml")
    assert "field offset, which is a column already" in said(valueFormat="json", valueSchema="offset bigint")
