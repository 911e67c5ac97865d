"""Messages over HTTP, in both dialects: what is stored is what is read, by us and by Kafka's own clients."""

import base64
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from gateway_process import SECONDS, GatewayProcess

from ended import until_ended
from headrace.client.produce.partitioner import key_hash
from headrace.testing import Broker


def post(http: httpx.Client, topic: str, body: Any, **options: Any) -> Any:
    reply = http.post(f"/api/v1/topics/{topic}/messages", json=body, **options)
    assert reply.status_code == 200, reply.text
    return reply.json()


def read(http: httpx.Client, topic: str, partition: int = 0, **query: Any) -> list[Any]:
    reply = http.get(f"/api/v1/topics/{topic}/partitions/{partition}/messages", params=query)
    assert reply.status_code == 200, reply.text
    return reply.json()["messages"]


def consumed(broker: Broker, topic: str, count: int) -> list[Any]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "none", "log_level": 0})
    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        return consumer.consume(count, timeout=30)
    finally:
        consumer.close()


def test_a_message_comes_back_as_it_went(http: httpx.Client, topic: str) -> None:
    stored = post(http, topic, {"key": "a", "value": "hello", "headers": {"trace": "7"}})
    assert (stored["partition"], stored["offset"]) == (0, 0)
    (message,) = read(http, topic, offset=0, limit=10)
    assert message.pop("timestamp") == stored["timestamp"]
    assert message == {"offset": 0, "key": "a", "value": "hello", "headers": {"trace": "7"}}


def test_the_short_dialect_does_the_same(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)
    stored = http.post(f"/topics/{topic}/messages", json={"key": "a", "value": "hello", "partition": 2}).json()
    assert (stored["partition"], stored["offset"]) == (2, 0)
    reply = http.get(f"/topics/{topic}/messages", params={"partition": 2, "offset": 0, "limit": 1}).json()
    assert [message["value"] for message in reply["messages"]] == ["hello"]
    assert reply["messages"] == read(http, topic, 2)


def test_the_short_dialect_asks_which_of_many_partitions(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    reply = http.get(f"/topics/{new_topic(partitions=2)}/messages")
    assert (reply.status_code, reply.json()["title"]) == (422, "Partition missing")


VALUES = [
    ({"value": "text ö"}, "text ö".encode()),
    ({"value": ""}, b""),
    ({"value": None}, None),
    ({"value": {"a": [1, 2.5, None, "ö"]}}, '{"a":[1,2.5,null,"ö"]}'.encode()),
    ({"value": [1]}, b"[1]"),
    ({"value": 7}, b"7"),
    ({"value": False}, b"false"),
    ({"value": "7", "encoding": "json"}, b'"7"'),
    ({"value": "7", "encoding": "text"}, b"7"),
    ({"value": "AP8=", "encoding": "base64"}, b"\x00\xff"),
]


@pytest.mark.parametrize(("message", "stored"), VALUES)
def test_values_are_stored_as_they_are_written(
    http: httpx.Client, broker: Broker, topic: str, message: dict[str, Any], stored: bytes | None
) -> None:
    post(http, topic, message)
    (found,) = consumed(broker, topic, 1)
    assert found.value() == stored


@pytest.mark.parametrize("value", ["text", {"a": 1}, [1, 2], None, "{not json", ""])
def test_what_was_read_can_be_posted_again(http: httpx.Client, topic: str, value: Any) -> None:
    post(http, topic, {"key": value, "value": value, "headers": [["a", "1"], ["a", {"base64": "AP8="}], ["b", None]]})
    (first,) = read(http, topic)
    assert (first["key"], first["value"]) == (value, value)
    again = {name: each for name, each in first.items() if name not in ("offset", "timestamp")}
    post(http, topic, again)
    assert {**read(http, topic)[1], "offset": 0, "timestamp": 0} == {**first, "offset": 0, "timestamp": 0}


def test_bytes_that_are_no_text_are_shown_as_base64(http: httpx.Client, broker: Broker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, b"\xff\x00", key=b"\xfe", headers=[("h", b"\xfd")])
    assert producer.flush(30) == 0
    (message,) = read(http, topic)
    assert message["encoding"] == message["key_encoding"] == "base64"
    assert base64.b64decode(message["value"]) == b"\xff\x00"
    assert base64.b64decode(message["key"]) == b"\xfe"
    assert message["headers"] == {"h": {"base64": "/Q=="}}


@pytest.mark.parametrize(
    ("encoding", "value", "said"),
    [("text", '{"a":1}', None), ("json", {"a": 1}, "json"), ("base64", "eyJhIjoxfQ==", "base64")],
)
def test_a_reader_chooses_the_encoding(
    http: httpx.Client, topic: str, encoding: str, value: Any, said: str | None
) -> None:
    post(http, topic, {"value": {"a": 1}})
    (message,) = read(http, topic, encoding=encoding)
    assert (message["value"], message.get("encoding")) == (value, said)


def test_a_batch_is_answered_in_its_order(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=4)
    values = [f"v{number}" for number in range(500)]
    body = {"messages": [{"key": value, "value": value} for value in values]}
    places = post(http, topic, body)["messages"]
    at = {(place["partition"], place["offset"]): value for place, value in zip(places, values, strict=True)}
    for partition in range(4):
        for message in read(http, topic, partition, limit=500):
            assert at.pop((partition, message["offset"])) == message["value"]
    assert not at


def test_a_bare_list_is_a_batch(http: httpx.Client, topic: str) -> None:
    places = post(http, topic, [{"value": 1}, {"value": 2}])["messages"]
    assert [place["offset"] for place in places] == [0, 1]


def test_some_of_a_batch_may_fail(http: httpx.Client, topic: str) -> None:
    messages = [{"value": "a"}, {"value": "b", "partition": 99}, {"value": "c"}]
    reply = http.post(f"/topics/{topic}/messages", json={"messages": messages})
    first, second, third = reply.json()["messages"]
    assert reply.status_code == 207
    assert (first["offset"], third["offset"]) == (0, 1)
    assert (second["error"]["status"], second["error"]["title"]) == (404, "Unknown partition")


def test_the_key_chooses_the_partition_as_everywhere(
    http: httpx.Client, broker: Broker, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=8)
    keys = [f"key-{number}" for number in range(40)]
    ours = post(http, topic, [{"key": key, "value": ""} for key in keys])["messages"]
    theirs: dict[str, int] = {}
    producer = Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2", "log_level": 0})
    for key in keys:
        producer.produce(topic, b"", key=key, on_delivery=lambda _, m: theirs.update({m.key().decode(): m.partition()}))
    assert producer.flush(30) == 0
    assert [place["partition"] for place in ours] == [theirs[key] for key in keys]


def test_a_timestamp_of_the_callers_is_kept(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(config={"retention.ms": "-1"})
    assert post(http, topic, {"value": "old", "timestamp": 1_600_000_000_000})["timestamp"] == 1_600_000_000_000
    assert read(http, topic)[0]["timestamp"] == 1_600_000_000_000


@pytest.mark.parametrize("acks", ["leader", "quorum", "all"])
def test_acks_are_the_callers_choice(http: httpx.Client, topic: str, acks: str) -> None:
    assert post(http, topic, {"value": "a"}, params={"acks": acks})["offset"] == 0
    assert post(http, topic, {"value": "b", "acks": acks})["offset"] == 1
    assert post(http, topic, {"messages": [{"value": "c"}], "acks": acks})["messages"][0]["offset"] == 2


def test_reads_go_on_where_the_last_ended(http: httpx.Client, topic: str) -> None:
    post(http, topic, [{"value": str(number)} for number in range(25)])
    seen: list[str] = []
    offset: int | str = "earliest"
    while True:
        path = f"/api/v1/topics/{topic}/partitions/0/messages"
        page = http.get(path, params={"offset": offset, "limit": 10}).json()
        if not page["messages"]:
            break
        seen += [message["value"] for message in page["messages"]]
        offset = page["next_offset"]
    assert seen == [str(number) for number in range(25)]
    assert (page["high_watermark"], page["log_start_offset"]) == (25, 0)


def test_a_page_has_about_so_many_bytes(http: httpx.Client, topic: str) -> None:
    post(http, topic, [{"value": "x" * 1000} for _ in range(10)])
    for bytes_max, count in ((1, 1), (1000, 1), (2500, 3), (100_000, 10)):
        # The second is not for the fast lane.
        for more in ({}, {"encoding": "text"}):
            assert len(read(http, topic, max_bytes=bytes_max, **more)) == count


def test_reads_by_time(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(config={"retention.ms": "-1"})
    start = 1_700_000_000_000  # 2023-11-14T22:13:20Z
    post(http, topic, [{"value": str(number), "timestamp": start + number * 1000} for number in range(10)])
    assert read(http, topic, time=start + 7000)[0]["value"] == "7"
    assert read(http, topic, time="2023-11-14T22:13:24.500Z")[0]["value"] == "5"
    assert read(http, topic, time="2023-11-14T23:13:24+01:00")[0]["value"] == "4"
    assert read(http, topic, time=start + 60_000) == []


def test_a_long_poll_is_answered_by_the_message_it_waits_for(http: httpx.Client, topic: str) -> None:
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(read, http, topic, offset=0, wait_ms=30_000)
        post(http, topic, {"value": "now"})
        assert [message["value"] for message in waiting.result(60)] == ["now"]


def test_a_long_poll_gives_up_in_time(http: httpx.Client, topic: str) -> None:
    assert read(http, topic, wait_ms=50) == []


def test_aborted_messages_are_not_shown(http: httpx.Client, broker: Broker, topic: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": topic, "log_level": 0})
    producer.init_transactions(30)
    for value, end in ((b"kept", producer.commit_transaction), (b"dropped", producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, value)
        assert producer.flush(30) == 0
        end()
    post(http, topic, {"value": "after"})
    until_ended(broker.bootstrap, topic)
    assert [message["value"] for message in read(http, topic)] == ["kept", "after"]
    uncommitted = read(http, topic, isolation="read_uncommitted")
    assert [message["value"] for message in uncommitted] == ["kept", "dropped", "after"]


def test_topics_are_made_if_the_brokers_make_them(new_gateway: Callable[..., GatewayProcess]) -> None:
    with Broker() as broker, new_gateway(bootstrap=broker.bootstrap).client() as http:
        assert post(http, "made-by-itself", {"value": "a"})["offset"] == 0


def test_a_quorum_is_refused_where_it_is_not_promised(new_gateway: Callable[..., GatewayProcess]) -> None:
    from confluent_kafka.admin import AdminClient, NewTopic

    from headrace.testing import Cluster

    with Cluster(3) as cluster, new_gateway(bootstrap=cluster.bootstrap).client() as http:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        topics = {"weak": "1", "strong": "2"}
        new = [NewTopic(name, 1, 3, config={"min.insync.replicas": least}) for name, least in topics.items()]
        for made in admin.create_topics(new).values():
            made.result(30)
        refused = http.post("/topics/weak/messages?acks=quorum", json={"value": "a"})
        assert (refused.status_code, refused.json()["title"]) == (409, "No quorum promised")
        assert "min.insync.replicas" in refused.json()["fix"]
        assert post(http, "strong", {"value": "a"}, params={"acks": "quorum"})["offset"] == 0
        assert post(http, "weak", {"value": "a"})["offset"] == 0


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_batches_are_compressed_as_told(new_gateway: Any, broker: Broker, topic: str, codec: str) -> None:
    gateway = new_gateway("--set", f'kafka={{"compression.type": "{codec}"}}')
    values = [f"{number} " + "x" * 500 for number in range(100)]
    with gateway.client() as client:
        reply = client.post(f"/topics/{topic}/messages", json=[{"value": value} for value in values])
        assert reply.status_code == 200, reply.text
        page = client.get(f"/topics/{topic}/messages").json()
    assert [message["value"] for message in page["messages"]] == values
    metrics = httpx.get(f"{broker.metrics_url}/partitions?topic={topic}", trust_env=False, timeout=SECONDS).text
    (stored,) = re.findall(r"^headrace_partition_log_bytes\{.*\} (\d+)$", metrics, re.MULTILINE)
    assert int(stored) < 10_000


@pytest.mark.parametrize(
    "query",
    [
        "",
        "partition=0",
        "partition=0&offset=3&limit=2",
        "limit=2&offset=0&partition=0",
        "partition=0&offset=99",
        "partition=7",
        "partition=0&limit=999999999",
        "partition=0&max_bytes=1",
        "partition=0&max_bytes=999999999",
        "partition=0&limit=0",
        "partition=0&offset=-1",
        "partition=0&offset=0&offset=3",
        "&partition=0",
        "partition=0&",
        "partition=",
        "partition=0&offset=999999999999999999",
        "partition=0&unknown=1",
    ],
)
@pytest.mark.parametrize("path", ["/topics/{}/messages", "/api/v1/topics/{}/partitions/0/messages"])
def test_a_plain_query_is_answered_as_the_framework_answers_it(
    http: httpx.Client, topic: str, path: str, query: str
) -> None:
    post(http, topic, {"messages": [{"value": str(number), "partition": 0} for number in range(5)]})
    # `encoding` is not for the fast lane, and says what is the default.
    quick, walked = (http.get(f"{path.format(topic)}?{text}") for text in (query, f"{query}&encoding=auto"))
    assert (quick.status_code, quick.headers["content-type"]) == (walked.status_code, walked.headers["content-type"])
    assert quick.json() == walked.json()


@pytest.mark.parametrize("number", ["18446744073709551616", "-9223372036854775809", "12345678901234567890123456789"])
@pytest.mark.parametrize(
    "form", ['{{"value": {{"id": {}}}}}', '[{{"value": [{}]}}, {{"value": "1234567890123456789"}}]']
)
def test_numbers_keep_their_digits(http: httpx.Client, topic: str, number: str, form: str) -> None:
    """JSON knows no largest number."""
    path = f"/topics/{topic}/messages"
    http.post(path, content=form.format(number)).raise_for_status()
    http.post(path, content=form.format(number), headers={"Idempotency-Key": topic}).raise_for_status()
    lines = b"".join(f'{{"value": {number}}}\n'.encode() for _ in range(2))
    http.post(path, content=lines, headers={"Content-Type": "application/x-ndjson"}).raise_for_status()
    for encoding in ("auto", "json", "text"):
        messages = http.get(path, params={"encoding": encoding}).json()["messages"]
        values = [each["value"] for each in messages if str(each["value"]) != "1234567890123456789"]
        assert len(values) == 4 and all(number in str(value) for value in values), values


def test_digits_inside_of_a_text_are_no_number(http: httpx.Client, topic: str) -> None:
    path, value = f"/topics/{topic}/messages", {"card": "12345678901234567890", "rate": 1e20}
    http.post(path, json={"value": value}).raise_for_status()
    assert http.get(path).json()["messages"][0]["value"] == value


def test_a_long_key(http: httpx.Client, new_topic: Callable[..., str]) -> None:
    path, key = f"/topics/{new_topic(partitions=3)}/messages", "k" * 300_000
    places = [http.post(path, json={"key": key, "value": "v"}).json()["partition"] for _ in range(2)]
    assert places == [key_hash(key.encode()) % 3] * 2


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def test_a_value_that_is_nested_too_deeply_is_refused(http: httpx.Client, topic: str) -> None:
    path = f"/topics/{topic}/messages"
    for levels in (300, 1000):
        reply = http.post(path, content=f'{{"value": {nested(levels)}}}')
        assert (reply.status_code, reply.json()["title"]) in [(422, "Invalid message"), (400, "Bad JSON")]
    assert http.get(path).json()["messages"] == []


@pytest.mark.parametrize("levels", [250, 300, 2000])
def test_one_that_a_kafka_client_wrote_is_shown_as_text(
    http: httpx.Client, broker: Broker, topic: str, levels: int
) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    producer.produce(topic, nested(levels))
    assert producer.flush(SECONDS) == 0
    for encoding in ("auto", "json", "text"):
        (message,) = http.get(f"/topics/{topic}/messages", params={"encoding": encoding}).json()["messages"]
        assert message["value"] == nested(levels)


def test_a_long_poll_brings_what_is_there_and_what_comes(http: httpx.Client, topic: str) -> None:
    path = f"/topics/{topic}/messages"
    for _ in range(3):
        http.post(path, json={"value": "x" * 100_000}).raise_for_status()
    there = http.get(path, params={"wait_ms": 5000}).json()
    assert len(there["messages"]) == 3
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(http.get, path, params={"offset": there["next_offset"], "wait_ms": 30_000})
        http.post(path, json={"value": "later"}).raise_for_status()
        assert waiting.result(SECONDS).json()["messages"][0]["value"] == "later"
