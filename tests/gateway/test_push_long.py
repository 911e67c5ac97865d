"""Push under stress: ten thousand listeners that hear nothing, and the death of a partition's leader."""

import asyncio
import os
import threading
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from events import listening
from gateway_process import SECONDS, GatewayProcess

from eventually import until_async
from headrace.testing import Broker, Cluster

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

IDLE = 10_000
BYTES_EACH_MAX = 100_000


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Ear(asyncio.Protocol):
    def __init__(self, opening: bytes) -> None:
        self._opening = opening
        self.heard = b""
        self.lost = False
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        transport.write(self._opening)

    def data_received(self, data: bytes) -> None:
        self.heard += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True


async def ten_thousand(gateway: GatewayProcess, topic: str, send: Any) -> None:
    loop = asyncio.get_running_loop()
    opening = f"GET /api/v1/topics/{topic}/events HTTP/1.1\r\nHost: 127.0.0.1:{gateway.port}\r\n\r\n".encode()
    before = resident_bytes(gateway.pid)
    ears: list[Ear] = []
    try:
        for start in range(0, IDLE, 200):
            for _ in range(200):
                ears.append((await loop.create_connection(lambda: Ear(opening), "127.0.0.1", gateway.port))[1])
            await until_async(lambda start=start: all(b"retry: " in ear.heard for ear in ears[start:]), 4 * SECONDS)
        grown = resident_bytes(gateway.pid) - before
        assert grown < IDLE * BYTES_EACH_MAX, f"{grown / IDLE:.0f} bytes each"
        send()
        await until_async(lambda: all(b'"value":"for all"' in ear.heard for ear in ears), 4 * SECONDS)
        assert not any(ear.lost for ear in ears)
    finally:
        for ear in ears:
            ear.transport.abort()
        await until_async(lambda: all(ear.lost for ear in ears), 4 * SECONDS)


def test_ten_thousand_idle_listeners(broker: Broker, topic: str) -> None:
    running = GatewayProcess(broker.bootstrap).start()
    producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def send() -> None:
        producer.produce(topic, "for all")
        producer.flush(SECONDS)

    try:
        asyncio.run(ten_thousand(running, topic, send))
    finally:
        running.stop()


def test_a_leader_dies_while_listeners_listen() -> None:
    """Those at the live end, and one that is far behind, see every message once and in order."""
    total = 4000
    with Cluster(3) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("t", 1, 3)])["t"].result(SECONDS)
        running = GatewayProcess(cluster.bootstrap).start()
        producer = Producer(
            {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "log_level": 0, "linger.ms": 5}
        )

        def store() -> None:
            for number in range(total):
                producer.produce("t", str(number))
                producer.poll(0.002)
            producer.flush(SECONDS)

        storing = threading.Thread(target=store)
        try:
            with running.client() as client, listening(client, "t") as live:
                storing.start()
                seen = live.values(500)
                leader = admin.list_topics("t", timeout=SECONDS).topics["t"].partitions[0].leader
                cluster.kill(leader)
                seen += live.values(total - 500)
                with listening(client, "t", start="earliest") as late:
                    assert late.values(total) == [str(number) for number in range(total)]
                assert seen == [str(number) for number in range(total)]
        finally:
            storing.join(SECONDS)
            running.stop()
