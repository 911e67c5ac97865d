"""A receiver that fails, hangs and dies, and gateways that are killed: nothing is lost, and nothing overtakes.

Two gateways share a subscription of four partitions while messages are stored. In the end every message was accepted by
the receiver or is a dead letter, and of each partition the receiver saw every message for the first time in order.
"""

import random
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from gateway_process import SECONDS, GatewayProcess
from receiver import Receiver

from eventually import until
from headrace.testing import Broker

NETWORKS = ("--set", "webhook_networks=127.0.0.0/8", "--set", "group_session_ms=6000")
PARTITIONS = 4
QUICK = {"tries_max": 4, "wait_ms": 50, "wait_ms_max": 400}


class Storm:
    """What can go wrong, and the ledger of what was stored."""

    def __init__(self, broker: Broker, topic: str, directory: Path) -> None:
        self.broker = broker
        self.topic = topic
        self.receiver = Receiver(directory).start()
        self.gateways = [GatewayProcess(broker.bootstrap, *NETWORKS) for _ in range(2)]
        self.stored: set[tuple[int, int]] = set()
        self._producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})

    def start(self) -> None:
        for gateway in self.gateways:
            gateway.start()
        asked = {"topic": self.topic, "callback_url": self.receiver.url, "messages_max": 7, "timeout_ms": 500}
        with self.gateways[0].client() as client:
            reply = client.post("/api/v1/webhooks", json={**asked, "retry": QUICK})
            assert reply.status_code == 201, reply.text
            self.webhook: str = reply.json()["id"]

    def close(self) -> None:
        for gateway in self.gateways:
            if gateway.process is not None:
                gateway.kill()
        self.receiver.kill()

    def store(self, count: int) -> None:
        for number in range(count):
            self._producer.produce(self.topic, f"{number}", partition=number % PARTITIONS, on_delivery=self._on_stored)
        assert self._producer.flush(SECONDS) == 0

    def _on_stored(self, error: Any, message: Any) -> None:
        assert error is None, error
        self.stored.add((message.partition(), message.offset()))

    def flow(self, seconds: float) -> None:
        """Messages are stored meanwhile."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.store(20)
            time.sleep(0.05)

    # -- what goes wrong ---------------------------------------------------------------------------------------------

    def receiver_fails(self) -> None:
        self._meanwhile("fail")

    def receiver_hangs(self) -> None:
        self._meanwhile("hang")

    def _meanwhile(self, mode: str) -> None:
        self.receiver.tell(mode)
        self.flow(1.5)
        self.receiver.tell("accept")

    def receiver_dies(self) -> None:
        self.receiver.kill()
        self.flow(1)
        self.receiver.start()

    def gateway_dies(self, number: int) -> None:
        """It comes back; until then the other one takes over."""
        self.gateways[number].kill()
        self.flow(1)
        self.gateways[number].start()

    # -- what must be true -------------------------------------------------------------------------------------------

    def until_all_are_somewhere(self) -> None:
        until(
            lambda: len(self.stored - self.accepted() - self.dead_letters()),
            lambda missing: missing == 0,
            2 * SECONDS,
            lambda: f"of {len(self.stored)} some are nowhere: {self._status()}",
        )

    def _status(self) -> list[Any]:
        shown = []
        for gateway in self.gateways:
            with gateway.client() as client:
                shown.append(client.get(f"/api/v1/webhooks/{self.webhook}").json())
        return shown

    def accepted(self) -> set[tuple[int, int]]:
        return {(each["partition"], each["offset"]) for each in self.receiver.accepted()}

    def dead_letters(self) -> set[tuple[int, int]]:
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "looks", "log_level": 0})
        topic, found = f"{self.topic}.dead-letters", set()
        for partition in range(PARTITIONS):
            id = TopicPartition(topic, partition, 0)
            _, end = consumer.get_watermark_offsets(id, timeout=SECONDS)
            consumer.assign([id])
            read = 0
            while read < end:
                message = consumer.poll(SECONDS)
                assert message is not None and message.error() is None, message
                read = message.offset() + 1
                headers = dict(message.headers())
                place = (headers[f"headrace-dead-letter-{name}"] for name in ("partition", "offset"))
                found.add(tuple(map(int, place)))
        consumer.close()
        return found

    def assert_in_order(self) -> None:
        seen: defaultdict[int, list[int]] = defaultdict(list)
        for message in self.receiver.accepted():
            offsets = seen[message["partition"]]
            if message["offset"] not in offsets:
                offsets.append(message["offset"])
        for partition, offsets in seen.items():
            assert offsets == sorted(offsets), f"partition {partition} was overtaken"


@pytest.fixture
def storm(tmp_path: Path) -> Iterator[Storm]:
    """On a broker of its own: every gateway of a cluster would share the work, also those of other tests."""
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        admin.create_topics([NewTopic("stormy", PARTITIONS, 1)])["stormy"].result(SECONDS)
        made = Storm(broker, "stormy", tmp_path)
        try:
            made.start()
            yield made
        finally:
            made.close()


def test_nothing_is_lost(storm: Storm) -> None:
    storm.flow(1)
    storm.receiver_fails()
    storm.receiver_hangs()
    storm.gateway_dies(0)
    storm.receiver_dies()
    storm.until_all_are_somewhere()
    storm.assert_in_order()
    assert storm.accepted() and storm.dead_letters()


@pytest.mark.long
@pytest.mark.timeout(600)
def test_nothing_is_lost_in_a_long_storm(storm: Storm) -> None:
    chance = random.Random(8)
    for _ in range(25):
        wrong = chance.choice(
            [
                storm.receiver_fails,
                storm.receiver_hangs,
                storm.receiver_dies,
                lambda: storm.gateway_dies(0),
                lambda: storm.gateway_dies(1),
            ]
        )
        wrong()
        storm.flow(chance.random())
    storm.until_all_are_somewhere()
    storm.assert_in_order()


@pytest.mark.long
def test_dead_letters_are_delivered_in_the_end(storm: Storm) -> None:
    """Redriven by whichever gateway is there: the one that was asked is killed."""
    storm.receiver.tell("fail")
    storm.store(40)
    until(lambda: storm.dead_letters() == storm.stored, seconds=2 * SECONDS)
    storm.receiver.tell("accept")
    with storm.gateways[0].client() as client:
        assert client.post(f"/api/v1/webhooks/{storm.webhook}/redrive").status_code == 202
    storm.gateways[0].kill()
    until(lambda: storm.accepted() == storm.stored, seconds=2 * SECONDS)
    storm.assert_in_order()
