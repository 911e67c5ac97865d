"""POSTs while the leaders of their partitions die: what was answered with 200 is there once, and in order."""

import itertools
import threading
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from gateway_process import SECONDS, GatewayProcess

from headrace.testing import Cluster

WRITERS, BATCH = 6, 20


def write(client: httpx.Client, writer: int, stop: threading.Event) -> list[str]:
    """One after the other, single ones and batches in turn, each with the writer's key: its messages have an order."""
    stored: list[str] = []
    for number in itertools.count():
        if stop.is_set():
            return stored
        values = [f"{writer}.{number}.{each}" for each in range(BATCH if number % 2 else 1)]
        body = [{"key": f"w{writer}", "value": value} for value in values]
        reply = client.post("/topics/t/messages", json=body if number % 2 else body[0])
        assert reply.status_code == 200, reply.text
        stored += values
    raise AssertionError


def read(client: httpx.Client, partition: int) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    offset = 0
    while True:
        query = {"partition": partition, "offset": offset, "limit": 10_000}
        page = client.get("/topics/t/messages", params=query).json()
        for message in page["messages"]:
            found[message["key"]].append(message["value"])
        if not page["messages"]:
            return found
        offset = page["next_offset"]


@pytest.mark.timeout(180)
def test_leaders_die_and_come_back() -> None:
    with Cluster(3) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 3, 3)])["t"].result(SECONDS)
        running = GatewayProcess(cluster.bootstrap).start()
        stop = threading.Event()
        try:
            with running.client() as client, ThreadPoolExecutor(WRITERS) as pool:
                writers = [pool.submit(write, client, number, stop) for number in range(WRITERS)]
                try:
                    for _ in range(2):
                        leader = admin.list_topics("t", timeout=SECONDS).topics["t"].partitions[0].leader
                        cluster.kill(leader)
                        stop.wait(2)
                        cluster.start(leader)
                        stop.wait(1)
                finally:
                    stop.set()
                stored = {f"w{number}": each.result(SECONDS) for number, each in enumerate(writers)}
                found: dict[str, list[str]] = {}
                for partition in range(3):
                    found |= read(client, partition)
        finally:
            running.stop()
    assert all(stored.values())
    assert found == stored
