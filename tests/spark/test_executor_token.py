"""Source and sink before brokers that want logins: tasks log in by a scoped token, and never see their owner's password."""

import base64
import json
import logging
import pickle
import uuid
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession
from test_source import failure

from headrace.cli.app import run
from headrace.cli.run.ports import free_port
from headrace.cli.security.certificates import Authority, save_private
from headrace.spark import executor_tokens
from headrace.spark.executor_login import executor_security, reading
from headrace.spark.source.batch import BatchSource, RangePartition
from headrace.spark.source.columns import schema_of
from headrace.spark.source.options import source_options
from headrace.testing.broker import HOST, Broker

pytestmark = pytest.mark.timeout(400)

SECONDS = 60
USERS = {"owner": "correct-horse-battery", "broker": "broker"}
RULES = (
    "--read --write --topic spark-*",
    "--write --txn-id headrace-sink-*",
    "--read --group headrace-sink-*",
)


class SecuredSpark:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        authority = Authority.in_folder(folder, 1)
        save_private(folder / "broker.pem", authority.issue("broker", [HOST], 1))
        self.port = free_port(HOST)
        for name, password in USERS.items():
            (folder / "password").write_text(f"{password}\n")
            assert run(["user", "add", name, "--password-file", str(folder / "password"), "--data", str(folder)]) == 0

    def settings(self) -> dict[str, object]:
        login = f'ScramLoginModule required username="broker" password="{USERS["broker"]}";'
        return {
            "listeners": f"OUT://{HOST}:{self.port}",
            "listener.security.protocol.map": "OUT:SASL_SSL",
            "listener.name.out.scram-sha-512.sasl.jaas.config": login,
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "ssl.keystore.location": str(self.folder / "broker.pem"),
            "ssl.truststore.location": str(self.folder / "ca.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:broker",
            "group.initial.rebalance.delay.ms": 0,
        }

    def client(self, user: str) -> dict[str, str]:
        return {
            "bootstrap.servers": f"{HOST}:{self.port}",
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": USERS[user],
            "ssl.ca.location": str(self.folder / "ca.pem"),
        }

    def options(self, **more: str) -> dict[str, str]:
        return {**{f"kafka.{name}": value for name, value in self.client("owner").items()}, **more}

    def command(self, *words: str) -> None:
        file = self.folder / "admin.properties"
        save_private(file, "".join(f"{name}={value}\n" for name, value in self.client("broker").items()).encode())
        assert run([*words, "--client-config", str(file)]) == 0


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    made = SecuredSpark(tmp_path_factory.mktemp("secured-spark"))
    with Broker(made.settings(), data=made.folder, port=made.port):
        for rule in RULES:
            made.command("acl", "allow", "--user", "owner", *rule.split())
        yield made


@pytest.fixture
def topic(secured):
    name = f"spark-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({**secured.client("broker"), "log_level": 0})
    admin.create_topics([NewTopic(name, num_partitions=2, replication_factor=1)])[name].result(SECONDS)
    return name


def scope_of(security) -> list[str]:
    content = dict(security)["sasl.username"].split(".")[1]
    (caveat,) = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))["caveats"]
    return caveat["may"]


def test_rows_go_there_and_back(spark: SparkSession, secured, topic) -> None:
    options = secured.options(executorToken="required")
    rows = spark.range(100, numPartitions=2).selectExpr("string(id) as value")
    rows.write.format("headrace").mode("append").options(**options).option("topic", topic).save()
    back = spark.read.format("headrace").options(**options).option("subscribe", topic).load()
    assert sorted(int(row.value) for row in back.collect()) == list(range(100))
    assert USERS["owner"] not in back._jdf.queryExecution().toString()
    assert "hrt1." not in back._jdf.queryExecution().toString()


def test_a_stream_goes_there_and_back(spark: SparkSession, secured, topic, tmp_path) -> None:
    options = secured.options(executorToken="required")
    target = f"{topic}-copy"
    admin = AdminClient({**secured.client("broker"), "log_level": 0})
    admin.create_topics([NewTopic(target, num_partitions=1, replication_factor=1)])[target].result(SECONDS)
    rows = spark.range(20, numPartitions=1).selectExpr("string(id) as value")
    rows.write.format("headrace").mode("append").options(**options).option("topic", topic).save()
    source = spark.readStream.format("headrace").options(**options).option("subscribe", topic)
    stream = source.option("startingOffsets", "earliest").load().select("value").writeStream.format("headrace")
    stream = stream.options(**options).option("topic", target).option("checkpointLocation", str(tmp_path))
    query = stream.trigger(availableNow=True).start()
    assert query.awaitTermination(SECONDS) and query.exception() is None
    back = spark.read.format("headrace").options(**options).option("subscribe", target).load()
    assert sorted(int(row.value) for row in back.collect()) == list(range(20))


def test_what_tasks_are_sent_has_no_password_and_reads_no_more_than_the_plan(secured, topic) -> None:
    producer = Producer({**secured.client("broker"), "log_level": 0})
    producer.produce(topic, b"hello")
    assert producer.flush(SECONDS) == 0
    options = secured.options(subscribe=topic)
    reader = BatchSource(options, schema_of(source_options(options, is_streaming=False)))
    (first, *_) = partitions = reader.partitions()
    assert all(isinstance(each, RangePartition) for each in partitions)
    sent = pickle.dumps((reader, partitions))
    assert USERS["owner"].encode() not in sent
    assert scope_of(first.security) == [f"read topic {topic}"]
    assert "hrt1." not in repr(partitions) + repr(reader._options), "nor does a log show it"
    assert USERS["owner"] not in repr(reader._options)
    assert reader.partitions()[0].security == first.security, "a second plan takes the same token"


def test_a_token_is_narrowed_without_a_broker(secured) -> None:
    wide = executor_security(source_options(secured.options(subscribe="spark-a"), is_streaming=False), ["read topic *"])
    given = {f"kafka.{name}": value for name, value in wide}
    options = {**given, "kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "spark-a"}
    narrow = executor_security(source_options(options, is_streaming=False), reading(["spark-a"]))
    name = dict(narrow)["sasl.username"].split(".")[1]
    caveats = json.loads(base64.urlsafe_b64decode(name + "=" * (-len(name) % 4)))["caveats"]
    assert [each["may"] for each in caveats] == [["read topic *"], ["read topic spark-a"]]


def test_who_gets_no_token_is_told(secured, topic, monkeypatch, caplog) -> None:
    monkeypatch.setattr(executor_tokens, "_kept", {})
    wrong = secured.options(subscribe=topic) | {"kafka.sasl.password": "mistyped-1"}
    options = source_options(wrong, is_streaming=False)
    with caplog.at_level(logging.WARNING):
        assert executor_security(options, ["read topic x"]) == options.security
    assert "log in as the owner" in caplog.text and "mistyped-1" not in caplog.text
    required = options._replace(executor_token="required")
    assert "executorToken=required" in failure(lambda: executor_security(required, ["read topic y"]))


def test_it_can_be_switched_off(secured) -> None:
    options = source_options(secured.options(subscribe="a", executorToken="off"), is_streaming=False)
    assert dict(executor_security(options, ["read topic a"]))["sasl.password"] == USERS["owner"]
    assert "executorToken=never does not exist" in failure(
        lambda: source_options(secured.options(subscribe="a", executorToken="never"), is_streaming=False)
    )
