"""Each admin client makes, describes, changes and deletes topics; what it did is seen by another client too."""

import base64

import pytest

from clients.client import EARLIEST, Admin, Client, Record, Refused
from clients.roster import CLIENTS, WITH_TOPIC_IDS
from eventually import until

UNKNOWN_TOPIC_OR_PARTITION = 3
INVALID_TOPIC = 17
TOPIC_ALREADY_EXISTS = 36
INVALID_PARTITIONS = 37
INVALID_REPLICATION_FACTOR = 38
INVALID_CONFIG = 40


def refusal(call, *arguments, **options) -> int:
    with pytest.raises(Refused) as refused:
        call(*arguments, **options)
    return refused.value.code


def test_every_client_lists_a_topic(client: Client, new_topic) -> None:
    topic = new_topic(partitions=3)
    assert client.topics()[topic] == 3


def test_create(admin: Admin, new_name, reference) -> None:
    topic = new_name()
    admin.create_topic(topic, 4, {"retention.ms": "1234567"})
    until(lambda: reference.topics().get(topic) == 4)
    assert admin.partition_count(topic) == 4
    assert reference.config(topic)["retention.ms"] == "1234567"


def test_create_again_is_refused(admin: Admin, topic: str) -> None:
    assert refusal(admin.create_topic, topic, 1) == TOPIC_ALREADY_EXISTS


@pytest.mark.parametrize("name", ["no spaces", "slash/ed", "..", "x" * 250, "ünï"])
def test_an_invalid_name_is_refused(admin: Admin, name: str) -> None:
    assert refusal(admin.create_topic, name, 1) == INVALID_TOPIC


def test_no_partitions_is_refused(admin: Admin, new_name) -> None:
    assert refusal(admin.create_topic, new_name(), 0) == INVALID_PARTITIONS


def test_more_replicas_than_brokers_is_refused(reference, new_name) -> None:
    assert refusal(reference.create_topic, new_name(), 1, replication_factor=9) == INVALID_REPLICATION_FACTOR


def test_an_unknown_config_is_refused_at_creation(admin: Admin, new_name) -> None:
    assert refusal(admin.create_topic, new_name(), 1, {"no.such.config": "1"}) == INVALID_CONFIG


def test_an_unknown_topic_cannot_be_deleted(admin: Admin, new_name) -> None:
    assert refusal(admin.delete_topic, new_name()) == UNKNOWN_TOPIC_OR_PARTITION


def test_delete(admin: Admin, topic: str, reference) -> None:
    admin.delete_topic(topic)
    until(lambda: topic not in reference.topics())


def test_change_a_config(admin: Admin, topic: str, reference) -> None:
    admin.set_config(topic, "retention.ms", "7654321")
    until(lambda: reference.config(topic)["retention.ms"] == "7654321")
    assert admin.config(topic)["retention.ms"] == "7654321"


def test_configs_show_their_defaults(admin: Admin, topic: str) -> None:
    config = admin.config(topic)
    assert config["cleanup.policy"] == "delete"
    assert config["max.message.bytes"] == "1048588"
    assert config["message.timestamp.type"] == "CreateTime"


@pytest.mark.parametrize(("name", "value"), [("no.such.config", "1"), ("retention.ms", "soon")])
def test_a_bad_config_is_refused(admin: Admin, topic: str, name: str, value: str) -> None:
    assert refusal(admin.set_config, topic, name, value) == INVALID_CONFIG


def test_more_partitions(admin: Admin, topic: str, reference) -> None:
    admin.create_partitions(topic, 5)
    until(lambda: reference.partition_count(topic) == 5)
    reference.produce(topic, [Record(None, b"v")], partition=4)
    assert len(reference.consume(topic, partition=4, count=1)) == 1


def test_fewer_partitions_is_refused(admin: Admin, new_topic) -> None:
    assert refusal(admin.create_partitions, new_topic(partitions=3), 2) == INVALID_PARTITIONS


def test_delete_records(admin: Admin, topic: str, reference) -> None:
    reference.produce(topic, [Record(None, b"v")] * 10)
    admin.delete_records(topic, 6)
    assert reference.offset_at(topic, EARLIEST) == 6
    assert [record.offset for record in reference.consume(topic, offset=6, count=4)] == [6, 7, 8, 9]


@pytest.mark.parametrize("admin", WITH_TOPIC_IDS, indirect=True)
def test_a_topic_made_again_has_a_new_id(admin, topic: str, reference) -> None:
    reference.produce(topic, [Record(None, b"of the first")])
    first = admin.topic_id(topic)
    admin.delete_topic(topic)
    until(lambda: topic not in reference.topics())
    admin.create_topic(topic, 1)
    until(lambda: topic in reference.topics())
    # A client may go by what it heard a moment ago.
    until(lambda: admin.topic_id(topic) != first)
    reference.produce(topic, [Record(None, b"of the second")])
    assert [record.value for record in reference.consume(topic, count=1)] == [b"of the second"]


@pytest.mark.parametrize("admin", WITH_TOPIC_IDS, indirect=True)
def test_clients_agree_on_a_topics_id(admin, topic: str, reference) -> None:
    assert _plain(admin.topic_id(topic)) == _plain(reference.topic_id(topic))


def _plain(topic_id: str) -> str:
    """A topic id as hexadecimal digits: some clients show it so, some in base64."""
    digits = topic_id.replace("-", "")
    if len(digits) == 32:
        return digits
    padded = topic_id + "=" * (-len(topic_id) % 4)
    return base64.b64decode(padded, altchars=b"-_").hex()


# aiokafka asks in a way that lets the broker make the topic.
@pytest.mark.parametrize("admin", WITH_TOPIC_IDS, indirect=True)
def test_describe_of_an_unknown_topic(admin: Admin, new_name) -> None:
    assert refusal(admin.partition_count, new_name()) == UNKNOWN_TOPIC_OR_PARTITION


# franz-go asks for no new topic unless it is told to.
@pytest.mark.parametrize("client", [name for name in CLIENTS if name != "franz-go"], indirect=True)
def test_produce_makes_an_unknown_topic(client: Client, new_name) -> None:
    topic = new_name()
    client.produce(topic, [Record(None, b"v")])
    assert [record.value for record in client.consume(topic, count=1)] == [b"v"]
