"""What the page of the brokers does to a cluster of three: elections, moves, and what is said of those that are refused."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from confluent_kafka import Producer
from playwright.sync_api import expect

from browser.pages import MS, Pages
from eventually import until
from gateway.gateway_process import GatewayProcess
from headrace.testing import Cluster

SECONDS = MS / 1000
RATES = ("follower.replication.throttled.rate", "leader.replication.throttled.rate")
THROTTLED = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Leaders stay where they are until somebody asks."""
    with Cluster(3, {"auto.leader.rebalance.enable": "false"}) as running:
        yield running


@pytest.fixture(scope="module")
def gateway(cluster: Cluster) -> Iterator[GatewayProcess]:
    running = GatewayProcess(cluster.bootstrap).start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def api(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with gateway.client() as client:
        until(lambda: alive(client), lambda found: len(found) == 3)
        yield client


@pytest.fixture
def pages(gateway: GatewayProcess, api: httpx.Client, open_pages: Callable[..., Pages]) -> Pages:
    return open_pages(gateway.url)


def alive(api: httpx.Client) -> list[int]:
    return [each["broker"] for each in api.get("/api/v1/cluster").json()["brokers"] if each["alive"]]


def partitions(api: httpx.Client, topic: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.get(f"/api/v1/topics/{topic}").json()["partitions"]
    return found


def create(api: httpx.Client, replicas: list[list[int]]) -> str:
    name = f"t-{uuid.uuid4().hex[:12]}"
    made = api.post("/api/v1/topics", json={"name": name, "replicas": replicas})
    assert made.status_code == 201, made.text
    until(lambda: partitions(api, name), lambda found: all(len(each["isr"]) == len(each["replicas"]) for each in found))
    return name


def come_back(api: httpx.Client, cluster: Cluster, broker: int, topic: str) -> None:
    cluster.start(broker)
    until(lambda: partitions(api, topic), lambda found: all(broker in each["isr"] for each in found))


def test_an_election_says_what_was_refused(pages: Pages, api: httpx.Client, cluster: Cluster) -> None:
    topic = create(api, [[2, 1], [2, 3]])
    cluster.kill(2)
    until(lambda: partitions(api, topic), lambda found: [each["leader"] for each in found] == [1, 3])
    come_back(api, cluster, 2, topic)
    pages.open("/ui/brokers", "Brokers")
    pages.press("Elect preferred leaders")
    pages.see_row("Elect preferred leaders", f"{topic}-0", "Broker 1", "Broker 2")
    cluster.kill(2)
    until(lambda: alive(api), lambda found: found == [1, 3])
    pages.press("Elect", pages.dialog)
    for number in (0, 1):
        pages.see_row("Refused", f"{topic}-{number}", "To fix it: ")
    assert not pages.page.get_by_text("The preferred replicas lead").count()
    pages.press("Close", pages.dialog)
    come_back(api, cluster, 2, topic)
    pages.press("Elect preferred leaders")
    pages.press("Elect", pages.dialog)
    pages.see("The preferred replicas lead")
    until(lambda: partitions(api, topic), lambda found: [each["leader"] for each in found] == [2, 2])


def test_the_cluster_is_rebalanced(pages: Pages, api: httpx.Client) -> None:
    topic = create(api, [[1, 2]] * 6)
    pages.open("/ui/brokers", "Brokers")
    pages.press("Rebalance")
    pages.see_row("Rebalance the cluster", topic)
    pages.press("Rebalance", pages.dialog)
    pages.see("on the move")
    until(lambda: partitions(api, topic), lambda found: any(3 in each["isr"] for each in found))
    pages.see("Every partition is where it should be.")


def test_a_move_is_cancelled(pages: Pages, api: httpx.Client, cluster: Cluster) -> None:
    topic = create(api, [[1, 2]])
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for _ in range(10):
        producer.produce(topic, bytes(200_000), partition=0)
    assert producer.flush(SECONDS) == 0
    for number in cluster.ids:
        assert api.patch(f"/api/v1/brokers/{number}/configs", json=dict.fromkeys(RATES, "1000")).status_code == 200
    assert api.patch(f"/api/v1/topics/{topic}/configs", json=dict.fromkeys(THROTTLED, "*")).status_code == 200
    wanted = {"partitions": [{"topic": topic, "partition": 0, "replicas": [1, 3]}]}
    assert api.post("/api/v1/reassignments?confirm=true", json=wanted).status_code == 200
    pages.open("/ui/brokers", "Brokers")
    row = pages.see_row("Partitions on the move", f"{topic}-0", "Broker 3")
    row.get_by_role("button", name="Cancel").click()
    pages.see(f"{topic}-0 stays where it was")
    until(lambda: partitions(api, topic)[0]["replicas"], lambda replicas: replicas == [1, 2])
    expect(pages.row("Partitions on the move")).to_have_count(0)
