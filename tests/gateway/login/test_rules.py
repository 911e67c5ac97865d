"""Rules of the brokers through the gateway: each caller may what the rules say of them, whoever else may more."""

import uuid

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from gateway.gateway_process import SECONDS
from gateway.login.login_world import USERS, basic, client_file, gateway_before, librdkafka, secured_broker

ROOT, AL, BO = (basic(name, USERS[name]) for name in ("root", "al", "bo"))
HIDDEN = "hidden-orders"
OPEN = "open-orders"
RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:broker",
}


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    with secured_broker(tmp_path_factory.mktemp("ruled"), RULES) as running:
        yield running


@pytest.fixture(scope="module")
def admin(ruled):
    admin = AdminClient(librdkafka(ruled, "root"))
    new = [NewTopic(name, num_partitions=1, replication_factor=1) for name in (HIDDEN, OPEN)]
    for made in admin.create_topics(new).values():
        made.result(SECONDS)
    producer = Producer(librdkafka(ruled, "root"))
    for topic in (HIDDEN, OPEN):
        producer.produce(topic, b"hello")
    assert producer.flush(SECONDS) == 0
    consumer = Consumer({**librdkafka(ruled, "root"), "group.id": "hidden-group", "auto.offset.reset": "earliest"})
    consumer.subscribe([HIDDEN])
    assert consumer.poll(SECONDS) is not None
    consumer.commit(asynchronous=False)
    consumer.close()
    return admin


@pytest.fixture(scope="module")
def allow(admin):
    def allowed(operation: str, kind: str = "TOPIC", name: str = OPEN, user: str = "al") -> None:
        rule = AclBinding(
            ResourceType[kind],
            name,
            ResourcePatternType.LITERAL,
            f"User:{user}",
            "*",
            AclOperation[operation],
            AclPermissionType.ALLOW,
        )
        admin.create_acls([rule])[rule].result(SECONDS)

    return allowed


@pytest.fixture(scope="module")
def http(ruled, allow, tmp_path_factory):
    """`al` may read and write one topic, in a group; `bo` may nothing."""
    for operation in ("READ", "WRITE"):
        allow(operation)
    allow("READ", "GROUP", "readers")
    path = tmp_path_factory.mktemp("gateway")
    service = client_file(path / "service.properties", user="root")
    running = gateway_before(ruled, path, "--service-config", str(service)).start()
    try:
        with running.client() as client:
            yield client
    finally:
        running.stop()


def test_a_caller_reads_and_writes_where_the_rules_let_them(http):
    written = http.post(f"/topics/{OPEN}/messages", json={"value": "from al"}, headers=AL)
    assert written.status_code == 200, written.text
    assert "from al" in http.get(f"/topics/{OPEN}/messages", headers=AL).text
    with http.stream("GET", f"/api/v1/topics/{OPEN}/events?start=earliest", headers=AL, timeout=SECONDS) as events:
        assert any('"hello"' in line for line in events.iter_lines())
    opened = http.post("/api/v1/consumer-groups/readers/sessions", json={"topics": [OPEN]}, headers=AL)
    assert opened.status_code == 201, opened.text
    assert http.delete(opened.headers["location"], headers=AL).status_code == 204


DENIED = [
    ("POST", "/topics/{topic}/messages", {"value": "x"}),
    ("POST", "/topics/{topic}/messages?acks=leader", {"value": "x"}),
    ("POST", "/api/v1/topics/{topic}/messages?acks=quorum", {"messages": [{"value": "x"}]}),
    ("GET", "/topics/{topic}/messages", None),
    ("GET", "/topics/{topic}/messages?offset=earliest&wait_ms=10", None),
    ("GET", "/api/v1/topics/{topic}/partitions/0/messages", None),
    ("GET", "/api/v1/topics/{topic}/partitions/7/messages", None),
    ("GET", "/api/v1/topics/{topic}/events", None),
    ("GET", "/api/v1/topics/{topic}", None),
    ("GET", "/api/v1/topics/{topic}/configs", None),
    ("PATCH", "/api/v1/topics/{topic}/configs", {"retention.ms": "1000"}),
    ("POST", "/api/v1/topics", {"name": "{topic}-new"}),
    ("DELETE", "/api/v1/topics/{topic}", None),
    ("POST", "/api/v1/consumer-groups/hidden-group/sessions", {"topics": ["{topic}"]}),
]


@pytest.mark.parametrize("user", [AL, BO], ids=["al", "bo"])
@pytest.mark.parametrize("topic", [HIDDEN, "no-such-topic"])
@pytest.mark.parametrize(("method", "path", "body"), DENIED)
def test_what_the_rules_do_not_allow_is_403_whether_it_is_there_or_not(http, method, path, body, topic, user):
    if body and "name" in body:
        body = {"name": f"{topic}-new"}
    if body and "topics" in body:
        body = {"topics": [topic]}
    reply = http.request(method, path.format(topic=topic), json=body, headers=user)
    assert reply.status_code == 403, reply.text
    assert reply.json()["kafka_error"] in ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")


CLUSTER = [
    ("GET", "/api/v1/cluster"),
    ("GET", "/api/v1/reassignments"),
    ("GET", "/api/v1/transactions/hidden"),
    ("GET", "/api/v1/consumer-groups/hidden-group"),
    ("GET", "/api/v1/consumer-groups/hidden-group/offsets"),
    ("GET", "/metrics"),
    ("GET", "/metrics/brokers/1"),
    ("GET", "/api/v1/alerts"),
    ("GET", f"/api/v1/metrics/history?metric=headrace_topic_bytes_in_total&topic={HIDDEN}"),
    ("GET", "/api/v1/brokers/1/configs"),
    ("GET", "/api/v1/brokers/1/log-dirs"),
    ("DELETE", "/api/v1/consumer-groups/hidden-group"),
]


@pytest.mark.parametrize(("method", "path"), CLUSTER)
def test_what_is_the_clusters_is_403(http, method, path):
    reply = http.request(method, path, headers=AL)
    assert reply.status_code == 403, reply.text


def test_lists_leave_out_what_may_not_be_described(http):
    everything = http.get("/api/v1/topics", headers=ROOT).text + http.get("/api/v1/consumer-groups", headers=ROOT).text
    assert HIDDEN in everything and "hidden-group" in everything
    for user, topics in ((AL, [OPEN]), (BO, [])):
        listed = http.get("/api/v1/topics", headers=user)
        assert [each["topic"] for each in listed.json()["topics"]] == topics, listed.text
        groups = http.get("/api/v1/consumer-groups", headers=user)
        assert groups.status_code == 200 and "hidden" not in groups.text, groups.text
        assert "hidden" not in http.get("/api/v1/transactions", headers=user).text


def test_a_member_of_a_group_without_the_right_is_told(http):
    path = f"/api/v1/consumer-groups/strange-{uuid.uuid4().hex}/events?topic={OPEN}"
    with http.stream("GET", path, headers=AL, timeout=SECONDS) as stream:
        assert any("GROUP_AUTHORIZATION_FAILED" in line for line in stream.iter_lines())


def test_a_new_rule_counts_for_callers_who_are_known(http, allow):
    name = "late-orders"
    assert http.post("/api/v1/topics", json={"name": name}, headers=ROOT).status_code == 201
    assert http.get(f"/topics/{name}/messages", headers=AL).status_code == 403
    allow("READ", name=name)
    assert http.get(f"/topics/{name}/messages", headers=AL).status_code == 200
