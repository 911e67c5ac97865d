"""What a client remembers, and for how long."""

from headrace.base.ids import TopicPartition
from headrace.client.cluster_metadata import BrokerMetadata, ClusterMetadata, PartitionMetadata, TopicMetadata
from headrace.client.metadata_cache import TOPIC_KNOWN_SECONDS, Leader, MetadataCache
from headrace.wire.codes import ErrorCode

ONE, TWO = BrokerMetadata(1, "one", 9092, None), BrokerMetadata(2, "two", 9092, None)
ORDERS = TopicPartition("orders", 0)


def seen(leader: int | None, error_code: int = 0) -> ClusterMetadata:
    partitions = {} if error_code else {0: PartitionMetadata(leader, 7, (1, 2), (1, 2))}
    topic = TopicMetadata("orders", b"", False, partitions, error_code)
    return ClusterMetadata("c", 1, {1: ONE, 2: TWO}, {"orders": topic})


def test_a_topic_is_known_for_a_while_and_its_leader_until_it_is_forgotten() -> None:
    cache = MetadataCache()
    cache.remember(seen(leader=2), now=100.0)
    topic = cache.topic("orders", 99.9 + TOPIC_KNOWN_SECONDS)
    assert topic is not None and len(topic.partitions) == 1
    assert cache.topic("orders", 100.0 + TOPIC_KNOWN_SECONDS) is None
    assert cache.leader(ORDERS) == Leader(("two", 9092), 7)
    cache.forget_leaders([ORDERS])
    assert cache.leader(ORDERS) is None and cache.leader(TopicPartition("orders", 1)) is None


def test_a_partition_without_a_leader_keeps_the_last_one_that_answered() -> None:
    """Its client finds out by asking, and forgets it then."""
    cache = MetadataCache()
    cache.remember(seen(leader=1), now=0.0)
    cache.remember(seen(leader=None), now=1.0)
    assert cache.leader(ORDERS) == Leader(("one", 9092), 7)
    cache.remember(seen(leader=9), now=2.0)
    assert cache.leader(ORDERS) == Leader(("one", 9092), 7), "9 is no broker that lives"


def test_a_topic_that_is_gone_is_forgotten_at_once() -> None:
    cache = MetadataCache()
    cache.remember(seen(leader=1), now=0.0)
    cache.remember(seen(leader=None, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), now=1.0)
    assert cache.topic("orders", 1.0) is None
    cache.remember(seen(leader=1), now=2.0)
    cache.forget_topic("orders")
    assert cache.topic("orders", 2.0) is None and cache.brokers == {1: ("one", 9092), 2: ("two", 9092)}
