"""Every alert fires and clears on a real cluster: seen over HTTP, and posted to a webhook that refuses at first.

The rules are those of the product with shorter times; what goes wrong is real.
"""

import json
import shutil
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from alert_inbox import AlertInbox
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from gateway_process import SECONDS, GatewayProcess

from eventually import until
from headrace.testing import Cluster

QUICK = {"for_seconds": 1, "keep_seconds": 1}
RULES = {
    "HeadraceUnderReplicated": QUICK,
    "HeadraceNoLeader": QUICK,
    "HeadraceReplicationLag": {**QUICK, "threshold": 1, "clears_at": 0.5},
    "HeadraceUncleanElection": {"window_seconds": 4},
    "HeadraceLagGrowing": {**QUICK, "window_seconds": 4},
    # A disk of so many bytes that is written to at 1 MB/s, or at 100 KB/s: see `disk_rule`.
    "HeadraceDiskFilling": {**QUICK, "window_seconds": 4},
}
FILLING, AT_REST = 1e6, 1e5
FIRED_AND_CLEARED = ["firing", "cleared"]


class Watched:
    def __init__(self, cluster: Cluster, gateway: GatewayProcess, inbox: AlertInbox) -> None:
        self.cluster = cluster
        self.gateway = gateway
        self.inbox = inbox
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        self.producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0, "acks": 1})
        self.http = gateway.client()

    def create(self, replicas: list[int], **config: str) -> str:
        name = f"t-{uuid.uuid4().hex[:12]}"
        topic = NewTopic(name, num_partitions=1, replica_assignment=[replicas], config=config)
        self.admin.create_topics([topic])[name].result(SECONDS)
        return name

    def produce(self, topic: str, records: int, value: bytes = b"x" * 100) -> None:
        for number in range(records):
            self.producer.produce(topic, value, str(number).encode())
            self.producer.poll(0)
        assert self.producer.flush(SECONDS) == 0

    def seen(self, name: str, **labels: str) -> str | None:
        alerts = self.http.get("/api/v1/alerts").raise_for_status().json()["alerts"]
        return next((each["state"] for each in alerts if each["name"] == name and each["labels"] == labels), None)

    def until(self, state: str, name: str, **labels: str) -> None:
        self.until_true(lambda: self.seen(name, **labels) == state, f"{name} {labels} is not {state}")

    def until_posted(self, name: str, **labels: str) -> None:
        self.until_true(lambda: self.inbox.states(name, **labels) == FIRED_AND_CLEARED, f"{name} was not posted")

    def until_true(self, condition: Callable[[], bool], complaint: str) -> None:
        until(condition, otherwise=complaint)


def disk_rule(data: Path) -> dict[str, float]:
    free = shutil.disk_usage(data).free
    return {**RULES["HeadraceDiskFilling"], "threshold": free / FILLING, "clears_at": free / AT_REST}


@pytest.fixture(scope="module")
def quiet_disk() -> Iterator[Path]:
    """One that nobody else writes to meanwhile, if there is one."""
    shared_memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared_memory if shared_memory.is_dir() else None) as path:
        yield Path(path)


@pytest.fixture(scope="module")
def watched(quiet_disk: Path) -> Iterator[Watched]:
    with Cluster(3, data=quiet_disk) as cluster, AlertInbox() as inbox:
        metrics = ",".join(httpx.URL(cluster.metrics_url(number)).netloc.decode() for number in cluster.ids)
        rules = {**RULES, "HeadraceDiskFilling": disk_rule(quiet_disk)}
        told = {"broker_metrics": metrics, "scrape_seconds": "0.3", "alert_webhook": inbox.url}
        told["alert_rules"] = json.dumps(rules)
        settings = [word for name, value in told.items() for word in ("--set", f"{name}={value}")]
        gateway = GatewayProcess(cluster.bootstrap, *settings).start()
        made = Watched(cluster, gateway, inbox)
        yield made
        made.http.close()
        gateway.stop()
        # Nothing is to remain of them, so they need no clean stop.
        cluster.kill()


def test_a_broker_that_is_gone_and_comes_back(watched: Watched) -> None:
    replicated, alone = watched.create([2, 1]), watched.create([1])
    watched.produce(replicated, 10)
    watched.produce(alone, 10)
    watched.cluster.kill(1)
    watched.produce(replicated, 10)
    alerts = (
        ("HeadraceUnderReplicated", {"topic": replicated}),
        ("HeadraceReplicationLag", {"topic": replicated}),
        ("HeadraceNoLeader", {}),
    )
    for name, labels in alerts:
        watched.until("firing", name, **labels)
    watched.cluster.start(1)
    for name, labels in alerts:
        watched.until("cleared", name, **labels)
        watched.until_posted(name, **labels)
    assert watched.inbox.refused == {"firing", "cleared"}, "each was refused once and sent again"
    posted = next(each for each in watched.inbox.alerts if each["name"] == "HeadraceNoLeader")
    assert {"id", "severity", "summary", "fix", "since", "fired_at", "value"} <= posted.keys()
    assert posted["summary"].startswith("1 partitions have no leader")


def test_a_leader_that_lacks_records(watched: Watched) -> None:
    topic = watched.create([1, 2], **{"unclean.leader.election.enable": "true", "min.insync.replicas": "1"})
    watched.produce(topic, 10)
    watched.cluster.kill(2)
    watched.until("firing", "HeadraceUnderReplicated", topic=topic)
    watched.produce(topic, 10)
    watched.cluster.kill(1)
    watched.cluster.start(2)
    watched.until("firing", "HeadraceUncleanElection")
    watched.cluster.start(1)
    watched.until("cleared", "HeadraceUncleanElection")
    watched.until("cleared", "HeadraceUnderReplicated", topic=topic)


def test_a_group_that_falls_behind(watched: Watched) -> None:
    topic, group = watched.create([3]), f"g-{uuid.uuid4().hex[:12]}"
    watched.produce(topic, 2000)
    settings = {"bootstrap.servers": watched.cluster.bootstrap, "group.id": group, "log_level": 0}
    consumer = Consumer({**settings, "enable.auto.commit": False})
    consumer.commit(offsets=[TopicPartition(topic, 0, 0)], asynchronous=False)

    def grow() -> bool:
        watched.produce(topic, 100)
        return watched.seen("HeadraceLagGrowing", group=group) == "firing"

    watched.until_true(grow, "the alert does not fire")
    end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=SECONDS, cached=False)[1]
    assert f'headrace_group_lag{{group="{group}",partition="0",topic="{topic}"}}' in watched.http.get("/metrics").text
    consumer.commit(offsets=[TopicPartition(topic, 0, end)], asynchronous=False)
    consumer.close()
    watched.until("cleared", "HeadraceLagGrowing", group=group)


def test_a_disk_that_fills(watched: Watched) -> None:
    topic = watched.create([3], **{"flush.messages": "1000000"})
    value = bytes(100_000)

    def write() -> bool:
        watched.produce(topic, 30, value)
        return watched.seen("HeadraceDiskFilling", broker="3") == "firing"

    watched.until_true(write, "the alert does not fire")
    watched.until("cleared", "HeadraceDiskFilling", broker="3")
    assert "refuses writes in" in next(
        each["summary"] for each in watched.inbox.alerts if each["name"] == "HeadraceDiskFilling"
    )


def test_a_cluster_that_is_gone_and_comes_back(watched: Watched) -> None:
    """The last: nobody is left to say that anything is wrong."""
    topic = watched.create([1, 2])
    watched.cluster.kill(2)
    watched.until("firing", "HeadraceUnderReplicated", topic=topic)
    watched.until_true(lambda: watched.seen("HeadraceNoLeader") != "firing", "partitions of others are led")
    watched.cluster.kill()
    watched.until("firing", "HeadraceNoLeader")

    def held() -> dict[str, Any]:
        alerts = watched.http.get("/api/v1/alerts").json()["alerts"]
        (found,) = (each for each in alerts if each["labels"] == {"topic": topic} and each["state"] == "firing")
        return found

    assert "as last measured" in until(held, lambda alert: not alert["is_measured"])["summary"]
    watched.cluster.start()
    watched.until("cleared", "HeadraceNoLeader")
    watched.until("cleared", "HeadraceUnderReplicated", topic=topic)
