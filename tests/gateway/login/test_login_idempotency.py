"""An Idempotency-Key where callers log in: what is remembered of one user no other hears, and rules decide who may."""

import uuid

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from eventually import until
from gateway.gateway_process import SECONDS
from gateway.login.login_world import USERS, basic, gateway_before, librdkafka, secured_broker

AL, BO = (basic(name, USERS[name]) for name in ("al", "bo"))
RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:broker",
}
SLOTS, TXN_IDS = "_headrace_idempotency", "headrace-rest"


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    with secured_broker(tmp_path_factory.mktemp("slots"), RULES) as running:
        yield running


@pytest.fixture(scope="module")
def admin(ruled):
    return AdminClient(librdkafka(ruled, "root"))


@pytest.fixture(scope="module")
def allow(admin):
    def allowed(user: str, kind: str, name: str, *operations: str, is_prefix: bool = False) -> None:
        pattern = ResourcePatternType.PREFIXED if is_prefix else ResourcePatternType.LITERAL
        for operation in operations:
            how = AclOperation[operation], AclPermissionType.ALLOW
            rule = AclBinding(ResourceType[kind], name, pattern, f"User:{user}", "*", *how)
            admin.create_acls([rule])[rule].result(SECONDS)

    return allowed


@pytest.fixture
def orders(admin, allow):
    name = f"orders-{uuid.uuid4().hex[:8]}"
    new = NewTopic(name, num_partitions=1, replication_factor=1)
    admin.create_topics([new])[name].result(SECONDS)
    for user in ("al", "bo"):
        allow(user, "TOPIC", name, "WRITE", "READ")
    return name


@pytest.fixture(scope="module")
def http(ruled, tmp_path_factory):
    running = gateway_before(ruled, tmp_path_factory.mktemp("front")).start()
    with running.client() as client:
        yield client
    running.stop()


def post(http, topic: str, key: str, value: str, login: dict[str, str]):
    return http.post(f"/topics/{topic}/messages", json={"value": value}, headers={**login, "Idempotency-Key": key})


def test_a_key_is_remembered_for_its_user_alone(http, allow, orders):
    without = post(http, orders, "k", "a", AL)
    assert without.status_code == 403
    assert f"--topic {SLOTS}.al" in without.json()["fix"] and f"'{TXN_IDS}.al.*'" in without.json()["fix"]
    for user in ("al", "bo"):
        allow(user, "TOPIC", f"{SLOTS}.{user}", "CREATE", "READ", "WRITE")
    assert post(http, orders, "k", "a", AL).status_code == 403, "a transactional id wants a rule too"
    for user in ("al", "bo"):
        allow(user, "TRANSACTIONAL_ID", f"{TXN_IDS}.{user}.", "WRITE", is_prefix=True)
    first, again, others = (post(http, orders, "k", value, who) for value, who in (("a", AL), ("a", AL), ("b", BO)))
    assert [each.status_code for each in (first, again, others)] == [200, 200, 200], others.text
    assert first.json() == again.json() != others.json()
    replayed = [each.headers["idempotency-replayed"] for each in (first, again, others)]
    assert replayed == ["false", "true", "false"]
    page = f"/topics/{orders}/messages?partition=0"
    until(
        lambda: [each["value"] for each in http.get(page, headers=AL).json()["messages"]],
        lambda seen: seen == ["a", "b"],
    )


def test_a_topic_that_one_may_not_write_is_refused_with_a_key_too(http, allow, admin):
    for user, operation in (("al", "DESCRIBE"), ("bo", "WRITE")):
        allow(user, "TOPIC", "theirs", operation)
    new = NewTopic("theirs", num_partitions=1, replication_factor=1)
    admin.create_topics([new])["theirs"].result(SECONDS)
    refused = post(http, "theirs", "k", "a", AL)
    assert refused.status_code == 403 and refused.json()["kafka_error"] == "TOPIC_AUTHORIZATION_FAILED"
