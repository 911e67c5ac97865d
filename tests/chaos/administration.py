"""Administration through the storm: settings change, topics come and go, partitions are added.

A change that was acknowledged holds at the end. One that was not may have been made, or be made later still: the request
may lie in the socket of a broker that is frozen.
"""

from collections.abc import Callable

from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from chaos.guest import Guest

GROWING = "growing"
CALL_SECONDS = 5.0
PAUSE_SECONDS = 0.5
PARTITIONS_MAX = 60
# Long enough to delete nothing: only the change itself is of interest.
RETENTION_MS = 10_000_000


class Administration(Guest):
    """Changes `retention.ms` of these topics while they are written to."""

    def __init__(self, topics: list[str]) -> None:
        super().__init__()
        self._topics = topics
        self._count = 0
        self._retention: dict[str, int] = {}
        self._retention_in_doubt: dict[str, set[int]] = {topic: set() for topic in topics}
        self._partitions = self._partitions_asked = 1
        self._there: set[str] = set()
        self._gone: set[str] = set()

    def prepare(self) -> None:
        self.cluster.create_topic(GROWING, 1, {})

    def turn(self) -> None:
        self.rng.choice((self._configure, self._configure, self._create, self._delete, self._grow))()
        self.stopping.wait(PAUSE_SECONDS)

    def _configure(self) -> None:
        topic = self.rng.choice(self._topics)
        self._count += 1
        value = RETENTION_MS + self._count
        entry = ConfigEntry("retention.ms", str(value), incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[entry])
        if self._ask(lambda: self.cluster.admin.incremental_alter_configs([resource])[resource].result(CALL_SECONDS)):
            self._retention[topic] = value
        else:
            self._retention_in_doubt[topic].add(value)

    def _create(self) -> None:
        self._count += 1
        name = f"churn-{self._count}"
        if self._ask(lambda: self.cluster.admin.create_topics([NewTopic(name, 3, 3)])[name].result(CALL_SECONDS)):
            self._there.add(name)

    def _delete(self) -> None:
        if not self._there:
            return
        name = self._there.pop()
        if self._ask(lambda: self.cluster.admin.delete_topics([name])[name].result(CALL_SECONDS)):
            self._gone.add(name)

    def _grow(self) -> None:
        if self._partitions_asked >= PARTITIONS_MAX:
            return
        self._partitions_asked += 1
        grown = NewPartitions(GROWING, self._partitions_asked)
        if self._ask(lambda: self.cluster.admin.create_partitions([grown])[GROWING].result(CALL_SECONDS)):
            self._partitions = self._partitions_asked

    def _ask(self, change: Callable[[], object]) -> bool:
        try:
            change()
        except (KafkaException, TimeoutError):
            return False
        self.note_done()
        return True

    def check(self) -> list[str]:
        topics = self.cluster.metadata().topics
        broken = [f"{self.name}: {name} was created, and is not there" for name in self._there - topics.keys()]
        broken += [f"{self.name}: {name} was deleted, and is there" for name in self._gone & topics.keys()]
        grown = len(topics[GROWING].partitions)
        if not self._partitions <= grown <= self._partitions_asked:
            broken.append(f"{self.name}: {self._partitions} partitions were acknowledged, {grown} are there")
        return broken + [line for topic in self._retention for line in self._check_retention(topic)]

    def _check_retention(self, topic: str) -> list[str]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        entries = self.cluster.admin.describe_configs([resource])[resource].result(CALL_SECONDS)
        found = int(entries["retention.ms"].value)
        if found in {self._retention[topic], *self._retention_in_doubt[topic]}:
            return []
        return [f"{self.name}: retention.ms of {topic} is {found}, and was set to {self._retention[topic]}"]
