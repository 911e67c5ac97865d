"""kafka-python and Kafka's own tools ask about ACLs, credentials, features, the quorum and directories."""

import json
import re
from collections.abc import Iterator

import pytest
from kafka.admin import (
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ConfigResource,
    ConfigResourceType,
    NewPartitions,
    ResourcePatternFilter,
    ResourceType,
)
from kafka.errors import InvalidReplicationAssignmentError, SecurityDisabledError

from clients import console
from clients.build import MissingTool, java_classpath
from kafka import KafkaAdminClient

TOOLS = "org.apache.kafka.tools"
ANY_ACL = ACLFilter(
    None,
    "*",
    ACLOperation.ANY,
    ACLPermissionType.ANY,
    ResourcePatternFilter(ResourceType.ANY, None, ACLResourcePatternType.ANY),
)


@pytest.fixture(scope="module")
def kafka_python(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def test_partitions_are_added_where_a_client_wants_them(kafka_python, topic: str, reference) -> None:
    kafka_python.create_partitions({topic: {"count": 2, "assignments": [[1]]}})
    kafka_python.create_partitions({topic: NewPartitions(4, [[1], [1]])})
    assert reference.partition_count(topic) == 4
    for assignments in ([[1]], [], [[1], [9]], [[1], []], [[1, 1], [1, 1]]):
        with pytest.raises(InvalidReplicationAssignmentError):
            kafka_python.create_partitions({topic: {"count": 6, "assignments": assignments}})
    assert reference.partition_count(topic) == 4


def test_kafka_python_asks_about_security_that_is_off(kafka_python) -> None:
    with pytest.raises(SecurityDisabledError):
        kafka_python.describe_acls(ANY_ACL)
    assert "nobody" not in kafka_python.describe_user_scram_credentials()


def test_kafka_python_asks_about_the_cluster(kafka_python, topic: str) -> None:
    (quorum,) = kafka_python.describe_metadata_quorum()["topics"][0]["partitions"]
    assert quorum["leader_id"] in {each["replica_id"] for each in quorum["current_voters"]}
    assert kafka_python.describe_features()["transaction.version"]["finalized"] == (2, 2)
    assert topic in kafka_python.list_config_resources()["topic"]
    ((asked,),) = (kafka_python.describe_topic_partitions([topic])["topics"],)
    assert [each["leader_id"] for each in asked["partitions"]] == [1]
    (broker,) = kafka_python.describe_log_dirs()
    assert topic in {each["name"] for each in broker["log_dirs"][0]["topics"]}


def test_a_broker_tells_its_addresses(kafka_python, bootstrap: str) -> None:
    asked = kafka_python.describe_configs([ConfigResource(ConfigResourceType.BROKER, "1", None)], config_filter="all")
    (described,) = asked["broker"].values()
    assert described["advertised.listeners"]["value"] == f"PLAINTEXT://{bootstrap}"
    assert described["advertised.listeners"]["config_source"] == "STATIC_BROKER_CONFIG"


# -- Kafka's own tools -------------------------------------------------------------------------------------------------


@pytest.fixture
def tool(bootstrap: str):
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    return lambda name, *options, **rest: console.run(bootstrap, f"{TOOLS}.{name}", *options, **rest)


@pytest.mark.long
def test_kafka_acls(tool) -> None:
    assert "SecurityDisabledException" in tool("AclCommand", "--list", expect=1)
    grant = ["--add", "--allow-principal", "User:a", "--operation", "Read", "--topic", "t"]
    assert "SecurityDisabledException" in tool("AclCommand", *grant, expect=1)


@pytest.mark.long
def test_kafka_metadata_quorum(tool, bootstrap: str) -> None:
    status = tool("MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId: +1\n", status)
    assert f"PLAINTEXT://{bootstrap}" in status
    assert re.search(r"^1 .*Leader", tool("MetadataQuorumCommand", "describe", "--replication"), re.MULTILINE)


@pytest.mark.long
def test_kafka_features(tool) -> None:
    def level() -> str:
        described = tool("FeatureCommand", "describe")
        return re.search(r"transaction\.version .*FinalizedVersionLevel: (\d)", described)[1]

    assert level() == "2"
    assert "was downgraded to 1" in tool("FeatureCommand", "downgrade", "--feature", "transaction.version=1")
    assert level() == "1"
    assert "was upgraded to 2" in tool("FeatureCommand", "upgrade", "--feature", "transaction.version=2")
    refused = tool("FeatureCommand", "upgrade", "--feature", "transaction.version=3", expect=1)
    assert "0 to 2" in refused


@pytest.mark.long
def test_kafka_log_dirs(tool, topic: str) -> None:
    told = tool("LogDirsCommand", "--describe", "--topic-list", topic)
    (broker,) = json.loads(told.splitlines()[-1])["brokers"]
    assert [each["partition"] for each in broker["logDirs"][0]["partitions"]] == [f"{topic}-0"]


@pytest.mark.long
def test_kafka_topics_describes_by_pages(tool, new_topic) -> None:
    topic = new_topic(5)
    described = tool("TopicCommand", "--describe", "--topic", topic, "--partition-size-limit-per-response", "2")
    assert described.count("Leader: 1") == 5
