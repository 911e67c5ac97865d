"""Webhooks where callers log in: each acts by a token of its owner, as far as that goes, and is nobody else's affair."""

import base64
import secrets
import uuid

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    ResourcePatternType,
    ResourceType,
)

from eventually import until
from gateway.gateway_process import SECONDS
from gateway.login.login_world import USERS, basic, client_file, gateway_before, librdkafka, secured_broker
from gateway.receiver import Receiver
from headrace.cli.app import run
from headrace.gateway.webhooks.registry import TOPIC

ROOT, AL, BO = (basic(name, USERS[name]) for name in ("root", "al", "bo"))
PATH = "/api/v1/webhooks"
RULES = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:broker",
}
# What docs/push.md says of the gateway's own login.
OWN = (("TOPIC", TOPIC, "READ"), ("TOPIC", TOPIC, "WRITE"), ("TOPIC", TOPIC, "CREATE"))


def rule(kind: str, name: str, operation: str, user: str, is_prefix: bool = False) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED if is_prefix else ResourcePatternType.LITERAL
    allowed = AclOperation[operation], AclPermissionType.ALLOW
    return AclBinding(ResourceType[kind], name, pattern, f"User:{user}", "*", *allowed)


@pytest.fixture(scope="module")
def ruled(tmp_path_factory):
    with secured_broker(tmp_path_factory.mktemp("hooks"), RULES) as running:
        yield running


@pytest.fixture(scope="module")
def admin(ruled):
    admin = AdminClient(librdkafka(ruled, "root"))
    own = [rule(*each, "gw") for each in OWN] + [rule("GROUP", "webhook.", "DELETE", "gw", is_prefix=True)]
    for made in admin.create_acls(own).values():
        made.result(SECONDS)
    return admin


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "keys"
    path.write_text(base64.b64encode(secrets.token_bytes(32)).decode())
    return path


@pytest.fixture(scope="module")
def front(ruled, admin, keys, tmp_path_factory):
    path = tmp_path_factory.mktemp("front")
    own = client_file(path / "own.properties", user="gw")
    settings = {"webhook_keys": keys, "webhook_networks": "127.0.0.0/8", "login_check_seconds": 1}
    sets = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    running = gateway_before(ruled, path, "--service-config", str(own), *sets).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def http(front):
    with front.client() as client:
        yield client


@pytest.fixture
def receiver(tmp_path):
    running = Receiver(tmp_path).start()
    yield running
    running.kill()


@pytest.fixture
def orders(admin):
    """A topic that al may read in groups of webhooks, with dead letters."""
    name = f"orders-{uuid.uuid4().hex[:8]}"
    dead = f"{name}.dead-letters"
    new = [NewTopic(each, num_partitions=1, replication_factor=1) for each in (name, dead)]
    for made in admin.create_topics(new).values():
        made.result(SECONDS)
    rules = [rule("TOPIC", name, "READ", "al"), rule("GROUP", "webhook.al.", "READ", "al", is_prefix=True)]
    rules += [rule("TOPIC", dead, operation, "al") for operation in ("READ", "WRITE")]
    for made in admin.create_acls(rules).values():
        made.result(SECONDS)
    return name


def produce(broker, topic: str, value: str) -> None:
    producer = Producer(librdkafka(broker, "root"))
    producer.produce(topic, value.encode())
    assert producer.flush(SECONDS) == 0


def subscribe(http, topic: str, receiver: Receiver, login=AL, **more) -> dict:
    made = http.post(PATH, json={"topic": topic, "callback_url": receiver.url, **more}, headers=login)
    assert made.status_code == 201, made.text
    return made.json()


def state(http, hook: dict) -> str:
    return http.get(f"{PATH}/{hook['id']}", headers=ROOT).json()["state"]


def arrives(ruled, receiver: Receiver, topic: str, value: str) -> None:
    produce(ruled, topic, value)
    receiver.until(lambda messages: value in {each["value"] for each in messages})


def test_a_webhook_delivers_what_its_owner_may_read(ruled, http, receiver, orders):
    hook = subscribe(http, orders, receiver)
    assert hook["owner"] == "al" and hook["group"] == f"webhook.al.{hook['id']}"
    arrives(ruled, receiver, orders, "hello")
    assert http.get(f"{PATH}/{hook['id']}", headers=AL).json()["state"] == "active"


def test_who_may_not_read_makes_no_webhook(http, receiver, orders):
    made = http.post(PATH, json={"topic": orders, "callback_url": receiver.url}, headers=BO)
    assert made.status_code == 403, made.text
    assert http.get(PATH, headers=BO).json() == {"webhooks": []}


def test_a_topic_that_one_may_only_describe_is_not_pushed(admin, http, receiver, orders):
    allowed = [rule("TOPIC", orders, "DESCRIBE", "bo"), rule("GROUP", "webhook.bo.", "READ", "bo", is_prefix=True)]
    allowed += [rule("TOPIC", f"{orders}.dead-letters", each, "bo") for each in ("READ", "WRITE")]
    for made in admin.create_acls(allowed).values():
        made.result(SECONDS)
    made = http.post(PATH, json={"topic": orders, "callback_url": receiver.url}, headers=BO)
    assert made.status_code == 403, made.text


def test_others_webhooks_are_nobodys_affair_but_the_administrators(http, receiver, orders):
    hook = subscribe(http, orders, receiver)
    one = f"{PATH}/{hook['id']}"
    assert http.get(PATH, headers=BO).json() == {"webhooks": []}
    refused = [http.get(one, headers=BO), http.delete(one, headers=BO), http.post(f"{one}/pause", headers=BO)]
    assert [each.status_code for each in refused] == [404] * 3
    taken = http.post(PATH, json={"topic": orders, "callback_url": receiver.url, "group": hook["group"]}, headers=BO)
    assert taken.status_code in (403, 409) and hook["id"] not in taken.json()["detail"]
    assert hook["id"] in {each["id"] for each in http.get(PATH, headers=ROOT).json()["webhooks"]}
    assert http.post(f"{one}/pause", headers=ROOT).json()["state"] == "paused"
    assert http.delete(one, headers=ROOT).status_code == 204


def test_a_token_makes_no_webhook_and_leaves_no_group(ruled, admin, http, receiver, orders, tmp_path, capsys):
    settings = client_file(tmp_path / "al.properties", user="al")
    asked = ["token", "create", "--everything", "--bootstrap", ruled.bootstrap, "--client-config", str(settings)]
    assert run(asked) == 0
    token = capsys.readouterr().out.strip()
    asked = {"topic": orders, "callback_url": receiver.url, "group": "webhook.al.left-over"}
    made = http.post(PATH, json=asked, headers={"Authorization": f"Bearer {token}"})
    groups = admin.list_consumer_groups().result(SECONDS).valid
    assert "webhook.al.left-over" not in {each.group_id for each in groups}
    assert made.status_code == 403 and "token" in made.json()["detail"]


def test_a_rule_that_is_taken_away_stops_it_until_it_is_resumed(ruled, admin, http, receiver, orders):
    hook = subscribe(http, orders, receiver)
    arrives(ruled, receiver, orders, "before")
    pattern = AclBindingFilter(
        ResourceType.TOPIC,
        orders,
        ResourcePatternType.LITERAL,
        "User:al",
        "*",
        AclOperation.READ,
        AclPermissionType.ALLOW,
    )
    for removed in admin.delete_acls([pattern]).values():
        removed.result(SECONDS)
    until(lambda: state(http, hook), lambda state: state == "denied", SECONDS)
    produce(ruled, orders, "while denied")
    refused = http.post(f"{PATH}/{hook['id']}/resume", headers=AL)
    assert refused.status_code == 403, refused.text
    for made in admin.create_acls([rule("TOPIC", orders, "READ", "al")]).values():
        made.result(SECONDS)
    assert http.post(f"{PATH}/{hook['id']}/resume", headers=AL).json()["state"] == "active"
    receiver.until(lambda messages: "while denied" in {each["value"] for each in messages})


def test_a_token_that_is_revoked_ends_it_and_its_owner_alone_gives_it_another(ruled, http, receiver, orders, tmp_path):
    hook = subscribe(http, orders, receiver)
    arrives(ruled, receiver, orders, "before")
    settings = client_file(tmp_path / "root.properties", user="root")
    revoked = ["token", "revoke", "--owner", "al", "--bootstrap", ruled.bootstrap, "--client-config", str(settings)]
    assert run(revoked) == 0
    until(lambda: state(http, hook), lambda state: state == "ended", SECONDS)
    assert "owner" in http.get(f"{PATH}/{hook['id']}", headers=AL).json()["state_reason"]
    assert http.post(f"{PATH}/{hook['id']}/resume", headers=ROOT).status_code == 403
    assert http.post(f"{PATH}/{hook['id']}/resume", headers=AL).json()["state"] == "active"
    arrives(ruled, receiver, orders, "after")


def test_the_token_is_kept_sealed_and_ends_with_the_webhook(ruled, http, receiver, orders, tmp_path, capsys):
    settings = client_file(tmp_path / "root.properties", user="root")

    def tokens() -> str:
        asked = ["token", "list", "--owner", "al", "--bootstrap", ruled.bootstrap, "--client-config", str(settings)]
        capsys.readouterr()
        assert run(asked) == 0
        return capsys.readouterr().out

    before = tokens()
    hook = subscribe(http, orders, receiver)
    assert len(tokens().splitlines()) > len(before.splitlines()), "there is a token of its own"
    reader = Consumer({**librdkafka(ruled, "root"), "group.id": "looks", "auto.offset.reset": "earliest"})
    reader.subscribe([TOPIC])
    kept: list[bytes] = []

    def read() -> bytes:
        kept.extend(each.value() or b"" for each in reader.consume(100, 1))
        return b"".join(kept)

    until(read, lambda found: hook["id"].encode() in found)
    reader.close()
    assert b"mandate" in b"".join(kept) and b"hrt1." not in b"".join(kept)
    assert hook["secret"].encode() not in b"".join(kept)
    assert http.delete(f"{PATH}/{hook['id']}", headers=AL).status_code == 204
    assert tokens() == before


def test_a_user_who_is_deleted_ends_the_webhook(ruled, admin, http, receiver, orders, tmp_path):
    hook = subscribe(http, orders, receiver)
    arrives(ruled, receiver, orders, "before")
    settings = client_file(tmp_path / "root.properties", user="root")
    more = ["--bootstrap", ruled.bootstrap, "--client-config", str(settings)]
    assert run(["user", "delete", "al", *more]) == 0
    try:
        until(lambda: state(http, hook), lambda state: state == "ended", SECONDS)
    finally:
        password = tmp_path / "password"
        password.write_text(f"{USERS['al']}\n")
        assert run(["user", "add", "al", "--password-file", str(password), *more]) == 0
