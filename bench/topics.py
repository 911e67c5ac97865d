"""Topics made and removed through the Kafka admin API, the same call for both peers."""

import contextlib
import itertools
import os
import time
from collections.abc import Iterator

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.broker import Running

FSYNC_OFF = "9223372036854775807"  # flush.messages: Kafka's default, never before the ack
FSYNC_ON = "1"  # flush.messages: Headrace's default, before every ack
_REMOVAL_DEADLINE_S = 30.0
_numbers = itertools.count(1)


@contextlib.contextmanager
def topic(broker: Running, partitions: int, fsync: bool, copies: int = 1) -> Iterator[str]:
    """An empty topic on a disk with nothing left to write; afterwards it and its data are gone."""
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    name = create_topic(admin, partitions, fsync, copies)
    os.sync()
    try:
        yield name
    finally:
        # Another client: the first may still wait for a controller that a scenario has killed.
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.delete_topics([name], request_timeout=60)[name].result()
        _until_removed(broker, name)
        os.sync()


def create_topic(admin: AdminClient, partitions: int, fsync: bool, copies: int) -> str:
    name = f"bench-{next(_numbers)}"
    config = {"flush.messages": FSYNC_ON if fsync else FSYNC_OFF}
    created = admin.create_topics([NewTopic(name, partitions, copies, config=config)], request_timeout=60)
    created[name].result()
    _until_every_partition_has_a_leader(admin, name, partitions)
    return name


def _until_every_partition_has_a_leader(admin: AdminClient, name: str, partitions: int) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = admin.list_topics(name, timeout=10).topics[name].partitions.values()
        if sum(each.leader >= 0 and len(each.isrs) == len(each.replicas) for each in found) == partitions:
            return
        time.sleep(0.1)
    raise TimeoutError(f"topic {name} did not get {partitions} leaders")


def _until_removed(broker: Running, name: str) -> None:
    """Pages of a deleted file need no writing: waiting for the removal spares the next row this row's disk traffic."""
    deadline = time.monotonic() + _REMOVAL_DEADLINE_S
    while time.monotonic() < deadline and any(broker.data.glob(f"**/{name}-*")):
        time.sleep(0.1)
