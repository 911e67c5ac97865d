"""Webhooks against a real receiver: what arrives, how it is signed, and what happens when it does not arrive."""

import base64
import hashlib
import hmac
import json
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from gateway_process import SECONDS, GatewayProcess
from metric_page import value_on
from receiver import Receiver

from eventually import until
from headrace.testing import Broker, Cluster

NETWORKS = ("--set", "webhook_networks=127.0.0.0/8", "--set", "group_session_ms=6000")
QUICK = {"tries_max": 3, "wait_ms": 20, "wait_ms_max": 50}


@pytest.fixture
def topic(hook_broker: Broker) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    admin = AdminClient({"bootstrap.servers": hook_broker.bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(SECONDS)
    return name


@pytest.fixture(scope="module")
def hooks(hook_broker: Broker) -> Iterator[httpx.Client]:
    """A gateway that may deliver to this machine."""
    running = GatewayProcess(hook_broker.bootstrap, *NETWORKS, "--set", "scrape_seconds=0.5").start()
    with running.client() as client:
        yield client
    running.stop()


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[Receiver]:
    running = Receiver(tmp_path).start()
    yield running
    running.kill()


@pytest.fixture
def send(hook_broker: Broker) -> Callable[..., None]:
    producer = Producer({"bootstrap.servers": hook_broker.bootstrap, "log_level": 0})

    def send(topic: str, *values: str, **options: Any) -> None:
        for value in values:
            producer.produce(topic, value.encode(), **options)
        assert producer.flush(SECONDS) == 0

    return send


def subscribe(client: httpx.Client, topic: str, receiver: Receiver, **also: Any) -> dict[str, Any]:
    reply = client.post("/api/v1/webhooks", json={"topic": topic, "callback_url": receiver.url, **also})
    assert reply.status_code == 201, reply.text
    return reply.json()


def values(messages: list[dict[str, Any]]) -> list[Any]:
    return [message["value"] for message in messages]


def read_all(broker: Broker, topic: str, count: int) -> list[Any]:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "reads-all",
            "auto.offset.reset": "earliest",
            "log_level": 0,
        }
    )
    consumer.subscribe([topic])
    found: list[Any] = []
    deadline = time.monotonic() + SECONDS
    while len(found) < count:
        assert time.monotonic() < deadline, f"{len(found)} of {count} messages in {topic}"
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append(message)
    consumer.close()
    return found


def test_messages_arrive_in_order_and_signed(hooks: httpx.Client, receiver: Receiver, topic: str, send: Any) -> None:
    made = subscribe(hooks, topic, receiver)
    send(topic, "one", "two", key="k", headers={"trace": "abc"})
    send(topic, '{"three": 3}')
    messages = receiver.until(lambda seen: len(seen) >= 3)
    assert values(messages) == ["one", "two", {"three": 3}]
    assert [message["id"] for message in messages] == [f"{topic}-0-{offset}" for offset in range(3)]
    assert messages[0]["key"] == "k"
    assert messages[0]["headers"] == {"trace": "abc"}
    for delivery in receiver.deliveries():
        headers = {name.lower(): value for name, value in delivery["headers"].items()}
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{delivery['body']}".encode()
        key = base64.b64decode(made["secret"].removeprefix("whsec_"))
        expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{expected}"


def test_a_secret_is_shown_once(hooks: httpx.Client, receiver: Receiver, topic: str) -> None:
    made = subscribe(hooks, topic, receiver, secret="a secret of my own choice")
    for path in ("/api/v1/webhooks", f"/api/v1/webhooks/{made['id']}"):
        shown = hooks.get(path)
        assert made["id"] in shown.text
        assert made["secret"] not in shown.text


def test_failures_become_dead_letters_and_are_redriven(
    hooks: httpx.Client, receiver: Receiver, topic: str, send: Any, hook_broker: Broker
) -> None:
    receiver.tell("poison:bad")
    made = subscribe(hooks, topic, receiver, retry=QUICK, messages_max=1)
    send(topic, "good 1", "bad 1", "good 2", headers={"own": "header"})
    assert values(receiver.until(lambda seen: len(seen) >= 2)) == ["good 1", "good 2"]
    (dead,) = read_all(hook_broker, f"{topic}.dead-letters", 1)
    headers = dict(dead.headers())
    assert dead.value() == b"bad 1"
    assert headers["own"] == b"header"
    assert headers["headrace-dead-letter-reason"] == b"HTTP 500: told to <fail>"
    assert headers["headrace-dead-letter-tries"] == b"3"
    assert headers["headrace-dead-letter-subscription"] == made["id"].encode()
    assert [headers[f"headrace-dead-letter-{name}"] for name in ("topic", "partition", "offset")] == [
        topic.encode(), b"0", b"1",
    ]  # fmt: skip
    receiver.tell("accept")
    assert hooks.post(f"/api/v1/webhooks/{made['id']}/redrive").status_code == 202
    messages = receiver.until(lambda seen: len(seen) >= 3)
    assert messages[-1] == {
        **messages[0],
        "id": f"{topic}-0-1",
        "offset": 1,
        "value": "bad 1",
        "timestamp": messages[-1]["timestamp"],
    }


def test_paused_and_resumed(hooks: httpx.Client, receiver: Receiver, topic: str, send: Any) -> None:
    made = subscribe(hooks, topic, receiver)
    send(topic, "before")
    receiver.until(lambda seen: len(seen) == 1)
    assert hooks.post(f"/api/v1/webhooks/{made['id']}/pause").json()["state"] == "paused"
    send(topic, "meanwhile")
    until(lambda: hooks.get(f"/api/v1/webhooks/{made['id']}").json()["here"] is None)
    assert hooks.get(f"/api/v1/webhooks/{made['id']}").json()["lag"] == 1
    assert hooks.post(f"/api/v1/webhooks/{made['id']}/resume").json()["state"] == "active"
    assert values(receiver.until(lambda seen: len(seen) >= 2)) == ["before", "meanwhile"]


def test_what_became_of_deliveries_is_counted(
    hooks: httpx.Client, receiver: Receiver, topic: str, send: Any, hook_broker: Broker
) -> None:
    receiver.tell("poison:bad")
    id = subscribe(hooks, topic, receiver, retry=QUICK, messages_max=1)["id"]
    send(topic, "good", "bad", "good")
    # The receiver knows of a delivery before the gateway knows that it was accepted.
    until(lambda: value_on(hooks.get("/metrics").text, "headrace_webhook_messages_total", webhook=id) == 2)
    page = hooks.get("/metrics").text
    tries = [
        value_on(page, "headrace_webhook_tries_total", webhook=id, result=each) for each in ("accepted", "refused")
    ]
    assert tries == [2, 3]
    assert value_on(page, "headrace_webhook_retries_total", webhook=id) == 2
    assert value_on(page, "headrace_webhook_dead_letters_total", webhook=id) == 1
    # Over a pause they are kept, and what waits is seen.
    hooks.post(f"/api/v1/webhooks/{id}/pause")
    until(lambda: hooks.get(f"/api/v1/webhooks/{id}").json()["here"] is None)
    send(topic, "later", "later")
    until(lambda: f'headrace_webhook_backlog{{webhook="{id}"}} 2' in hooks.get("/metrics").text)
    receiver.kill()
    hooks.post(f"/api/v1/webhooks/{id}/resume")
    until(
        lambda: (
            value_on(hooks.get("/metrics").text, "headrace_webhook_tries_total", webhook=id, result="unanswered") > 0
        )
    )
    assert value_on(hooks.get("/metrics").text, "headrace_webhook_messages_total", webhook=id) == 2
    hooks.delete(f"/api/v1/webhooks/{id}")
    until(lambda: f'webhook="{id}"' not in hooks.get("/metrics").text)


def test_deleted(hooks: httpx.Client, receiver: Receiver, topic: str) -> None:
    made = subscribe(hooks, topic, receiver)
    assert hooks.delete(f"/api/v1/webhooks/{made['id']}").status_code == 204
    gone = hooks.get(f"/api/v1/webhooks/{made['id']}")
    assert gone.status_code == 404
    assert gone.json()["title"] == "Unknown webhook"


def groups_of(broker: Broker, having: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    return {each.group_id for each in admin.list_consumer_groups().result(SECONDS).valid if having in each.group_id}


def test_groups_end_with_what_they_were_for(
    hooks: httpx.Client, receiver: Receiver, topic: str, send: Any, hook_broker: Broker
) -> None:
    """Else their lag would grow, and somebody would be woken for it."""
    receiver.tell("fail")
    made = subscribe(hooks, topic, receiver, retry=QUICK, messages_max=1)
    group = made["group"]
    send(topic, "first")
    read_all(hook_broker, f"{topic}.dead-letters", 1)
    receiver.tell("accept")
    hooks.post(f"/api/v1/webhooks/{made['id']}/redrive")
    receiver.until(lambda seen: len(seen) >= 1)
    until(lambda: groups_of(hook_broker, group) == {group})
    # The next one begins where the last one ended, though its group is gone.
    receiver.tell("fail")
    send(topic, "second")
    until(lambda: hooks.get(f"/api/v1/webhooks/{made['id']}").json()["here"]["dead_letters"] >= 1)
    receiver.tell("accept")
    hooks.post(f"/api/v1/webhooks/{made['id']}/redrive")
    assert values(receiver.until(lambda seen: len(seen) >= 2)) == ["first", "second"]
    hooks.delete(f"/api/v1/webhooks/{made['id']}")
    until(lambda: not groups_of(hook_broker, group))
    assert values(receiver.accepted()) == ["first", "second"]


def test_a_group_that_was_named_outlives_its_webhook(
    hooks: httpx.Client, receiver: Receiver, topic: str, send: Any, hook_broker: Broker
) -> None:
    """To send its messages elsewhere from now on, it is deleted and made again."""
    made = subscribe(hooks, topic, receiver, group=f"group-{topic}")
    assert hooks.post("/api/v1/topics", json={"name": f"{topic}-also"}).status_code == 201
    unnamed = subscribe(hooks, f"{topic}-also", receiver)
    until(lambda: groups_of(hook_broker, unnamed["group"]))
    send(topic, "one")
    receiver.until(lambda seen: len(seen) == 1)
    until(lambda: hooks.get(f"/api/v1/webhooks/{made['id']}").json()["lag"] == 0)
    for each in (made, unnamed):
        hooks.delete(f"/api/v1/webhooks/{each['id']}")
    send(topic, "two")
    until(lambda: not groups_of(hook_broker, unnamed["group"]))
    assert groups_of(hook_broker, made["group"]) == {made["group"]}
    subscribe(hooks, topic, receiver, group=f"group-{topic}")
    assert values(receiver.until(lambda seen: len(seen) >= 2)) == ["one", "two"]


def test_redirects_are_not_followed(
    hooks: httpx.Client, receiver: Receiver, topic: str, send: Any, hook_broker: Broker
) -> None:
    receiver.tell("redirect")
    subscribe(hooks, topic, receiver, retry=QUICK)
    send(topic, "around the corner")
    (dead,) = read_all(hook_broker, f"{topic}.dead-letters", 1)
    assert dict(dead.headers())["headrace-dead-letter-reason"] == b"HTTP 302: redirects are not followed"
    assert {delivery["path"] for delivery in receiver.deliveries()} == {"/hook"}


def test_begins_where_it_is_told(hooks: httpx.Client, receiver: Receiver, topic: str, send: Any) -> None:
    send(topic, "early")
    subscribe(hooks, topic, receiver, start="earliest")
    assert values(receiver.until(lambda seen: len(seen) >= 1)) == ["early"]


def test_two_receivers_never_share_a_group(hooks: httpx.Client, receiver: Receiver, topic: str) -> None:
    subscribe(hooks, topic, receiver, group=f"group-{topic}")
    again = {"topic": topic, "callback_url": receiver.url, "group": f"group-{topic}"}
    refused = hooks.post("/api/v1/webhooks", json=again)
    assert refused.status_code == 409
    assert "choose another group" in refused.json()["fix"]


@pytest.fixture
def others(hook_broker: Broker, new_gateway: Callable[..., GatewayProcess]) -> Iterator[httpx.Client]:
    """A second gateway of the same cluster."""
    with new_gateway(*NETWORKS, bootstrap=hook_broker.bootstrap).client() as client:
        yield client


def test_of_many_that_want_a_group_at_once_one_has_it(
    hooks: httpx.Client, others: httpx.Client, receiver: Receiver, topic: str
) -> None:
    with ThreadPoolExecutor(6) as pool:
        for number in range(5):
            asked = {"topic": topic, "callback_url": receiver.url, "group": f"{topic}-{number}"}
            posts = [pool.submit(each.post, "/api/v1/webhooks", json=asked) for each in [hooks, others] * 3]
            check_one_made([each.result(SECONDS) for each in posts], asked["group"], hooks, others)


def check_one_made(replies: list[httpx.Response], group: str, *gateways: httpx.Client) -> None:
    assert sorted(each.status_code for each in replies) == [201, *[409] * 5], [each.text for each in replies]
    (made,) = (each.json()["id"] for each in replies if each.status_code == 201)
    for client in gateways:
        there = client.get("/api/v1/webhooks").json()["webhooks"]
        assert [each["id"] for each in there if each["group"] == group] == [made]


def test_a_late_change_brings_nothing_back(
    hook_broker: Broker, hooks: httpx.Client, new_gateway: Callable[..., GatewayProcess], receiver: Receiver, topic: str
) -> None:
    """A gateway that stood still while another deleted the webhook is asked to pause it."""
    late = new_gateway(*NETWORKS, bootstrap=hook_broker.bootstrap)
    with late.client() as client, ThreadPoolExecutor(1) as pool:
        id = subscribe(hooks, topic, receiver)["id"]
        until(lambda: client.get(f"/api/v1/webhooks/{id}").status_code == 200)
        os.kill(late.pid, signal.SIGSTOP)
        asked = pool.submit(client.post, f"/api/v1/webhooks/{id}/pause")
        assert hooks.delete(f"/api/v1/webhooks/{id}").status_code == 204
        os.kill(late.pid, signal.SIGCONT)
        assert asked.result(SECONDS).status_code == 404
        assert client.get(f"/api/v1/webhooks/{id}").status_code == 404
    assert hooks.get(f"/api/v1/webhooks/{id}").status_code == 404


def test_there_are_so_many_and_no_more(
    hook_broker: Broker, hooks: httpx.Client, new_gateway: Callable[..., GatewayProcess], receiver: Receiver, topic: str
) -> None:
    count = len(hooks.get("/api/v1/webhooks").json()["webhooks"])
    limit = ("--set", f"webhooks_max={count + 1}")
    with new_gateway(*NETWORKS, *limit, bootstrap=hook_broker.bootstrap).client() as client:
        asked = {"topic": topic, "callback_url": receiver.url}
        with ThreadPoolExecutor(5) as pool:
            replies = list(pool.map(lambda _: client.post("/api/v1/webhooks", json=asked), range(5)))
        assert sorted(each.status_code for each in replies) == [201, *[409] * 4]
        refused = next(each.json() for each in replies if each.status_code == 409)
        assert (refused["title"], "webhooks_max" in refused["fix"]) == ("Too many webhooks", True)
        (made,) = (each.json()["id"] for each in replies if each.status_code == 201)
        client.delete(f"/api/v1/webhooks/{made}")
        assert client.post("/api/v1/webhooks", json=asked).status_code == 201


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("http://127.0.0.1:9/", 403),
        ("http://localhost/", 403),
        ("http://[::1]/", 403),
        ("http://[::ffff:127.0.0.1]/", 403),
        ("http://169.254.169.254/latest/meta-data", 403),
        ("http://10.1.2.3/", 403),
        ("http://0.0.0.0/", 403),
        ("http://2130706433/", 403),
        ("ftp://example.com/", 422),
        ("http://user:password@127.0.0.1/", 422),
        ("http:///nowhere", 422),
        ("not a url", 422),
    ],
)
def test_private_targets_are_refused(http: httpx.Client, topic: str, url: str, status: int) -> None:
    refused = http.post("/api/v1/webhooks", json={"topic": topic, "callback_url": url})
    assert refused.status_code == status, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["fix"]


def test_an_unknown_topic(hooks: httpx.Client, receiver: Receiver) -> None:
    refused = hooks.post("/api/v1/webhooks", json={"topic": "no-such-topic", "callback_url": receiver.url})
    assert refused.status_code == 404
    assert json.loads(refused.text)["title"] == "Unknown topic"


def test_no_path_shows_the_topic_with_the_secrets(hooks: httpx.Client, receiver: Receiver, topic: str) -> None:
    secret = subscribe(hooks, topic, receiver)["secret"]
    for path in (
        "/api/v1/topics/_headrace_webhooks/partitions/0/messages",
        "/topics/_headrace_webhooks/messages",
        "/api/v1/topics/_headrace_webhooks/events?start=earliest",
        "/api/v1/consumer-groups/g/events?topic=_headrace_webhooks&start=earliest",
    ):
        assert hooks.get(path).status_code == 403, path
    sessions = f"/api/v1/consumer-groups/g-{topic}/sessions"
    assert hooks.post(sessions, json={"topics": ["_headrace_webhooks"]}).status_code == 403
    opened = hooks.post(sessions, json={"pattern": ".*", "from": "earliest"}).json()["session"]
    deadline = time.monotonic() + SECONDS
    while not (polled := hooks.get(f"{sessions}/{opened}/messages?wait_ms=1000").json())["assigned"]:
        assert time.monotonic() < deadline
    assert topic in {each["topic"] for each in polled["assigned"]}
    assert "_headrace_webhooks" not in {each["topic"] for each in polled["assigned"]}
    assert secret not in json.dumps(polled)
    hooks.delete(f"{sessions}/{opened}")


def test_what_brokers_refuse_to_keep_is_no_fault_of_ours(
    new_gateway: Callable[..., GatewayProcess], receiver: Receiver
) -> None:
    with Cluster(2, {"auto.create.topics.enable": "false"}) as cluster:
        running = new_gateway(*NETWORKS, "--set", "delivery_seconds_max=1", bootstrap=cluster.bootstrap)
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        kept = NewTopic("_headrace_webhooks", 1, 2, config={"cleanup.policy": "compact", "min.insync.replicas": "2"})
        for made in admin.create_topics([kept, NewTopic("orders", 1, 2)]).values():
            made.result(SECONDS)
        with running.client() as client:
            id = subscribe(client, "orders", receiver)["id"]
            cluster.kill(2)
            # Another may be acknowledged by it before it is gone.
            until(lambda: client.post(f"/api/v1/webhooks/{id}/pause").status_code != 200)
            refused = client.post(f"/api/v1/webhooks/{id}/pause")
        assert refused.status_code == 503, refused.text
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["kafka_error"] == "NOT_ENOUGH_REPLICAS"
        assert "_headrace_webhooks" in refused.json()["detail"]
        assert "min.insync.replicas" in refused.json()["fix"]
