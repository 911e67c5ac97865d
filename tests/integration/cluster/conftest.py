"""Clusters of real broker processes, and what tests ask of them."""

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import pytest

from clients.confluent import Confluent
from eventually import until
from headrace.admin.admin import Admin
from headrace.admin.survey import Survey, survey
from headrace.testing import Cluster

WAIT_SECONDS = 60.0


class Ran(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Lab:
    """A cluster with a topic on it, asked in the ways that an operator has."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.client = Confluent(cluster.bootstrap)
        self._until_together()

    def _until_together(self) -> None:
        """Every broker knows of every other: one that heard of fewer would place a topic on those."""
        everyone = set(self.cluster.ids)
        for number in self.cluster.ids:
            until(lambda number=number: self._brokers_at(number), lambda known: known >= everyone)

    def _brokers_at(self, number: int) -> set[int]:
        known = self.ask(lambda admin: admin.describe_cluster(), [number])
        return {broker.broker_id for broker in known.brokers if not broker.is_fenced}

    @property
    def live_bootstrap(self) -> str:
        cluster = self.cluster
        return ",".join(cluster.address(number) for number in cluster.ids if cluster.running(number))

    def create(self, topic: str, partitions: int = 6, replication_factor: int = 3, **config: str) -> str:
        named = {name.replace("_", "."): value for name, value in config.items()}
        self.client.create_topic(topic, partitions, named, replication_factor)
        self.until_known(topic)
        return topic

    def until_known(self, topic: str) -> None:
        """To every broker: the one that made it knows it first."""
        for number in self.cluster.ids:
            until(lambda number=number: not self.cluster.running(number) or topic in self._topics_at(number))

    def _topics_at(self, number: int) -> list[str | None]:
        known = self.ask(lambda admin: admin.metadata(), [number])
        return [topic.name for topic in known.topics]

    def cli(self, *words: str, expect: int = 0) -> Ran:
        ran = subprocess.run(
            [sys.executable, "-m", "headrace.cli", *words],
            capture_output=True,
            text=True,
            env={**os.environ, "HEADRACE_BOOTSTRAP": self.cluster.bootstrap},
            timeout=110,
            check=False,
        )
        assert ran.returncode == expect, f"{words}: exit {ran.returncode}\n{ran.stdout}\n{ran.stderr}"
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def ask(self, question: Callable[[Admin], Awaitable[Any]], numbers: Sequence[int] = ()) -> Any:
        """One of these brokers, or of all."""
        return asyncio.run(self._ask(question, numbers or self.cluster.ids))

    async def _ask(self, question: Callable[[Admin], Awaitable[Any]], numbers: Sequence[int]) -> Any:
        admin = Admin([("127.0.0.1", self.cluster.options(number).port) for number in numbers], "test")
        try:
            return await question(admin)
        finally:
            admin.close()

    def survey(self) -> Survey:
        return self.ask(survey)

    def until(self, condition: Callable[[Survey], bool]) -> Survey:
        return until(self.survey, condition)

    def until_healthy(self) -> Survey:
        """Every partition led, every replica of it in sync, nothing moving."""
        return self.until(
            lambda seen: all(
                each.leader is not None and set(each.isr) == set(each.replicas) and not each.is_moving
                for each in seen.partitions.values()
            )
        )

    def metric(self, broker: int, name: str, topic: str) -> float:
        with urllib.request.urlopen(self.cluster.metrics_url(broker), timeout=60) as reply:
            lines = reply.read().decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(f'{name}{{topic="{topic}"}}'))


@pytest.fixture(scope="session")
def lab_of() -> Callable[[Cluster], Lab]:
    return Lab


@pytest.fixture
def three():
    with Cluster(3) as cluster:
        yield Lab(cluster)


@pytest.fixture
def four():
    with Cluster(4) as cluster:
        yield Lab(cluster)
