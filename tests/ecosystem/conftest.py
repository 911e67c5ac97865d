"""Three brokers for each test, and what the tests do to them."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from clients.build import MissingTool
from clients.confluent import Confluent
from ecosystem.outcome import Outcome, TopicOutcome
from eventually import until
from headrace.admin.admin import Admin
from headrace.admin.coordinators import coordinator_of
from headrace.base.errors import Refused
from headrace.testing import Cluster

PARTITIONS = 3
NOBODY = -1
START_SECONDS = 120.0
# A busy machine stands still for seconds, and only the broker that is killed is to count as dead.
SESSION_MS = 6000
# Records that come out before a broker dies, without it, and after it came back.
BEFORE, WITHOUT, AFTER = 200, 300, 200


class ThreeBrokers:
    """Three brokers with topics on them, one of which is killed while others work."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder
        self._admin = Confluent(cluster.bootstrap)

    @property
    def bootstrap(self) -> str:
        return self.cluster.bootstrap

    def create(self, *topics: str) -> None:
        for topic in topics:
            self._admin.create_topic(topic, PARTITIONS)

    def outcome(self, topic: str) -> TopicOutcome:
        return TopicOutcome(self.bootstrap, topic, PARTITIONS)

    # kill -9 of one broker; work goes on without it, and when it is back

    def kill_coordinator_at_work(self, group: str, outcome: Outcome, still_well: Callable[[], None]) -> None:
        """Of a group. It leads partitions, too."""
        self._kill_at_work(lambda: self._coordinator(group), outcome, still_well)

    def kill_leader_at_work(self, topic: str, outcome: Outcome, still_well: Callable[[], None]) -> None:
        self._kill_at_work(lambda: self._leader(topic), outcome, still_well)

    def _kill_at_work(self, choose: Callable[[], int], outcome: Outcome, still_well: Callable[[], None]) -> None:
        outcome.progress(BEFORE, still_well)
        broker = choose()
        self.cluster.kill(broker)
        until(choose, lambda now: now not in (broker, NOBODY), otherwise="nobody took its place")
        outcome.progress(WITHOUT, still_well)
        self.cluster.start(broker)
        outcome.progress(AFTER, still_well)

    def _coordinator(self, group: str) -> int:
        try:
            return self.ask(lambda admin: coordinator_of(admin, group))
        except Refused:
            return NOBODY

    def _leader(self, topic: str) -> int:
        described = self.ask(lambda admin: admin.metadata([topic]))
        return described.topics[0].partitions[0].leader_id

    def ask(self, question: Callable[[Admin], Awaitable[Any]]) -> Any:
        return asyncio.run(self._ask(question))

    async def _ask(self, question: Callable[[Admin], Awaitable[Any]]) -> Any:
        admin = Admin([("127.0.0.1", self.cluster.options(number).port) for number in self.cluster.ids], "ecosystem")
        try:
            return await question(admin)
        finally:
            admin.close()


@pytest.fixture
def three(tmp_path: Path) -> Iterator[ThreeBrokers]:
    # A JVM that starts beside them takes its time on a small machine.
    with Cluster(3, start_seconds=START_SECONDS, broker_session_timeout_ms=SESSION_MS) as cluster:
        yield ThreeBrokers(cluster, tmp_path)


@pytest.fixture
def built() -> Callable[..., Any]:
    """`built(build, *arguments)`: what `build` returns; the test is skipped where a tool is missing."""

    def attempt(build: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return build(*arguments)
        except MissingTool as missing:
            pytest.skip(str(missing))

    return attempt
