"""kill -9 under load, at random moments, again and again: what was acknowledged is there, once and in order.

A killed process leaves the page cache behind, so relaxed topics lose nothing here either; what a power cut does is for
tests/sim. CHAOS_SEED plays the same moments again, as far as a real machine can.
"""

import os
import random
import time

import pytest

from chaos.ledger import Ledger, Place
from chaos.load import Load
from chaos.reader import read_all
from clients.confluent import Confluent
from headrace.testing import Broker

DURABLE = {"segment.bytes": str(1 << 20)}
RELAXED = {**DURABLE, "flush.messages": "1000000", "flush.ms": "600000"}


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
def test_nothing_acknowledged_is_lost(kills: int) -> None:
    seed = int(os.environ.get("CHAOS_SEED", random.randrange(1 << 32)))
    print(f"play again: CHAOS_SEED={seed}")
    rng = random.Random(seed)
    with Broker() as broker:
        places = create_topics(broker.bootstrap)
        ledger = Ledger()
        loads = [
            Load("plain", broker.bootstrap, ledger, places, idempotent=False),
            Load("idempotent-1", broker.bootstrap, ledger, places, idempotent=True),
            Load("idempotent-2", broker.bootstrap, ledger, places[:1], idempotent=True),
        ]
        for load in loads:
            load.start()
        for _ in range(kills):
            progress_and_a_moment(ledger, rng)
            broker.kill()
            broker.start()
        progress_and_a_moment(ledger, rng)
        for load in loads:
            load.stop()
        assert [failure for load in loads for failure in load.failures] == []
        found = read_all(broker.bootstrap, places)
        assert ledger.count > 0
        assert ledger.check(found, [load.name for load in loads if load.idempotent]) == []


def test_a_clean_stop_under_load_is_quick_and_loses_nothing() -> None:
    rng = random.Random(1)
    with Broker() as broker:
        places = create_topics(broker.bootstrap)
        ledger = Ledger()
        loads = [Load(f"idempotent-{each}", broker.bootstrap, ledger, places, idempotent=True) for each in range(3)]
        for load in loads:
            load.start()
        for _ in range(2):
            progress_and_a_moment(ledger, rng)
            broker.stop()
            assert (broker.data / "broker-1" / "clean").exists()
            broker.start()
        progress_and_a_moment(ledger, rng)
        for load in loads:
            load.stop()
        assert [failure for load in loads for failure in load.failures] == []
        assert ledger.check(read_all(broker.bootstrap, places), [load.name for load in loads]) == []


def create_topics(bootstrap: str) -> list[Place]:
    admin = Confluent(bootstrap)
    admin.create_topic("durable", 2, DURABLE)
    admin.create_topic("relaxed", 2, RELAXED)
    return [(topic, partition) for topic in ("durable", "relaxed") for partition in range(2)]


def progress_and_a_moment(ledger: Ledger, rng: random.Random) -> None:
    """Each life of the broker acknowledges something; then it may die at any moment."""
    ledger.wait_for_progress()
    time.sleep(rng.uniform(0, 0.5))
