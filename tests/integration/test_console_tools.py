"""Kafka's command line tools: console producer and consumer, kafka-topics, -configs, -get-offsets, -delete-records."""

import json
import re
from pathlib import Path

import pytest
from raw_batches import raw_batches

from clients import console
from clients.build import MissingTool, java_classpath
from clients.client import CODECS, EARLIEST, Record
from eventually import until


@pytest.fixture
def tool(bootstrap: str):
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    return lambda name, *options, **rest: console.run(bootstrap, name, *options, **rest)


def consumed(tool, topic: str, count: int, *options: str) -> list[str]:
    # A partition and an offset, so that no group is joined.
    where = ["--topic", topic, "--partition", "0", "--offset", "earliest"]
    limits = ["--max-messages", str(count), "--timeout-ms", "30000"]
    return tool(console.CONSUMER, *where, *limits, *options).splitlines()


def test_default_settings(tool, topic: str) -> None:
    lines = [f"línea {number} 水" for number in range(100)]
    tool(console.PRODUCER, "--topic", topic, stdin="\n".join(lines))
    assert consumed(tool, topic, len(lines)) == lines


@pytest.mark.parametrize("codec", CODECS)
def test_each_codec(tool, topic: str, codec: str, bootstrap: str, reference) -> None:
    lines = [f"a line that repeats itself {number}" for number in range(100)]
    tool(console.PRODUCER, "--topic", topic, "--compression-codec", codec, stdin="\n".join(lines))
    assert [record.value.decode() for record in reference.consume(topic, count=100)] == lines
    assert {batch.codec for batch in raw_batches(bootstrap, topic)} == {codec}


def test_consumer_shows_keys_headers_and_timestamps(tool, topic: str, reference) -> None:
    record = Record(b"key", b"value", (("h", b"1"), ("i", b"2")), 1_700_000_000_000)
    reference.produce(topic, [record, Record(b"gone", None)])
    shown = [f"print.{part}=true" for part in ("key", "headers", "timestamp", "offset", "partition")]
    options = [option for part in shown for option in ("--formatter-property", part)]
    first, second = consumed(tool, topic, 2, *options)
    assert first == "CreateTime:1700000000000\tPartition:0\tOffset:0\th:1,i:2\tkey\tvalue"
    assert second.endswith("gone\tnull")


def test_producer_writes_keys_headers_and_nulls(tool, topic: str, reference) -> None:
    parse = ["parse.key=true", "parse.headers=true", "null.marker=NULL"]
    options = [option for part in parse for option in ("--reader-property", part)]
    tool(console.PRODUCER, "--topic", topic, *options, stdin="h:1,i:2\tkey\tvalue\nNULL\tgone\tNULL\n")
    first, second = reference.consume(topic, count=2)
    assert first.content == (b"key", b"value", (("h", b"1"), ("i", b"2")))
    assert second.content == (b"gone", None, ())


def test_topics(tool, new_name, reference) -> None:
    topic = new_name()
    tool(console.TOPICS, "--create", "--topic", topic, "--partitions", "3", "--config", "retention.ms=1234567")
    until(lambda: reference.topics().get(topic) == 3)
    assert topic in tool(console.TOPICS, "--list").split()
    tool(console.TOPICS, "--alter", "--topic", topic, "--partitions", "5")
    until(lambda: reference.topics().get(topic) == 5)
    described = tool(console.TOPICS, "--describe", "--topic", topic)
    assert re.search(r"PartitionCount: 5\b", described)
    assert "retention.ms=1234567" in described
    assert described.count("Leader: ") == 5
    tool(console.TOPICS, "--delete", "--topic", topic)
    until(lambda: topic not in reference.topics())


def test_topics_that_exist_are_refused(tool, topic: str) -> None:
    assert "already exists" in tool(console.TOPICS, "--create", "--topic", topic, expect=1)


def test_configs(tool, topic: str, reference) -> None:
    entity = ["--entity-type", "topics", "--entity-name", topic]
    tool(console.CONFIGS, "--alter", *entity, "--add-config", "retention.ms=7654321,max.message.bytes=4096")
    until(lambda: reference.config(topic)["max.message.bytes"] == "4096")
    described = tool(console.CONFIGS, "--describe", *entity)
    assert "retention.ms=7654321" in described
    assert "max.message.bytes=4096" in described
    assert "cleanup.policy" not in described
    tool(console.CONFIGS, "--alter", *entity, "--delete-config", "retention.ms")
    until(lambda: reference.config(topic)["retention.ms"] == "604800000")
    assert "cleanup.policy=delete" in tool(console.CONFIGS, "--describe", "--all", *entity)


def test_offsets_and_delete_records(tool, topic: str, reference, tmp_path: Path) -> None:
    reference.produce(topic, [Record(None, b"v", timestamp_ms=1_700_000_000_000 + number) for number in range(10)])
    cut = tmp_path / "cut.json"
    cut.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 4}]}))
    tool(console.DELETE_RECORDS, "--offset-json-file", str(cut))
    assert reference.offset_at(topic, EARLIEST) == 4
    for time, offset in (("earliest", 4), ("latest", 10), ("max-timestamp", 9), ("1700000000006", 6)):
        assert tool(console.OFFSETS, "--topic", topic, "--time", time).strip() == f"{topic}:0:{offset}"
