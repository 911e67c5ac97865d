"""A broker whose groups do not wait for further members, so that a group of one reads at once."""

from collections.abc import Iterator

import pytest

from headrace.testing import Broker


@pytest.fixture(scope="session")
def headrace_broker() -> Iterator[Broker]:
    with Broker({"group.initial.rebalance.delay.ms": 0}) as broker:
        yield broker
