"""The programs in docs/delivery.md do what they say, as they stand there."""

import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from confluent_kafka import Producer

from clients.client import Client

PAGE = Path(__file__).resolve().parents[2] / "docs" / "delivery.md"
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def orders(bootstrap: str, reference: Client) -> str:
    existing = reference.topics()
    for topic in ("orders", "bills-1", "bills-2", "bills-3"):
        if topic not in existing:
            reference.create_topic(topic, 1)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(10):
        producer.produce("orders", f"order {number}".encode())
    assert producer.flush(30) == 0
    return bootstrap


def test_the_page_has_a_program_for_each() -> None:
    assert len(PROGRAMS) == 3


@pytest.mark.parametrize("number", [1, 2, 3])
def test_undisturbed_each_order_is_billed_once(orders: str, reference: Client, number: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAMS[number - 1]],
        env={**os.environ, "BOOTSTRAP": orders},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    bills = reference.consume(f"bills-{number}", count=10)
    assert Counter(bill.value for bill in bills) == Counter(f"bill for order {each}".encode() for each in range(10))
