"""Three replicas clean and forget each by itself, and still hold the same."""

from collections.abc import Iterator

import pytest
from created import created
from upkeep import PER_SEGMENT, SEGMENT_BYTES, keyed, log_files, newest, read_all

from clients.client import EARLIEST
from clients.confluent import Confluent
from eventually import until
from headrace.testing import Cluster

KEYS = 20


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(3, log_cleaner_backoff_ms=200, log_retention_check_interval_ms=200) as cluster:
        yield cluster


def test_each_replica_leads_to_the_same_table(cluster: Cluster) -> None:
    client = Confluent(cluster.bootstrap)
    config = {"cleanup.policy": "compact", "segment.bytes": str(SEGMENT_BYTES), "min.cleanable.dirty.ratio": "0.01"}
    topic = created(client, "table", config=config)
    count = 4 * PER_SEGMENT
    client.produce(topic, keyed(range(count), KEYS))
    expected = {f"key-{number % KEYS}".encode(): number for number in range(count - KEYS, count)}
    for _ in range(3):
        until(lambda: len(read_all(cluster.bootstrap, topic)) <= KEYS + PER_SEGMENT + 1)
        assert newest(read_all(cluster.bootstrap, topic)) == expected
        # Otherwise the leader may be the last in sync, and nobody leads until it is back.
        until(lambda: len(client._described(topic).partitions[0].isr) == len(cluster.ids))
        leader = client._described(topic).partitions[0].leader.id
        cluster.restart(leader)
        until(lambda leader=leader: leads_by_now(client, topic) not in (None, leader))


def leads_by_now(client: Confluent, topic: str) -> int | None:
    leader = client._described(topic).partitions[0].leader
    return leader.id if leader is not None else None


def test_followers_forget_what_the_leader_forgets(cluster: Cluster) -> None:
    client = Confluent(cluster.bootstrap)
    topic = created(client, "forgotten", config={"segment.bytes": str(SEGMENT_BYTES)})
    client.produce(topic, keyed(range(4 * PER_SEGMENT), KEYS))
    client.set_config(topic, "retention.bytes", str(SEGMENT_BYTES))
    until(lambda: client.offset_at(topic, EARLIEST) > 0)
    until(lambda: len(log_files(cluster.data, topic)) <= 3 * 3)
    client.delete_records(topic, -1)
    until(lambda: sum(path.stat().st_size for path in log_files(cluster.data, topic)) <= 3 * SEGMENT_BYTES)
