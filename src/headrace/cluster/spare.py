"""Whether the others can do without a broker: one that cannot serve gains nothing by leaving where they cannot.

Three brokers on one overloaded disk would otherwise all leave in turn, and the last of them could commit nothing.
"""

from collections.abc import Collection, Set

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.elect import choose_leader, effective_min_isr
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.image import Image
from headrace.cluster.rewrite import topic_configs


def can_spare(image: Image, broker_id: int, live: Collection[int], defaults: BrokerConfig) -> bool:
    """Whether any partition that this broker holds a replica of could commit without it."""
    others = set(live) - {broker_id}
    config_of = topic_configs(defaults)
    return bool(others) and any(
        _goes_on(state, others, config_of(topic).min_insync_replicas)
        for topic in image.topics.values()
        for state in topic.partitions
        if broker_id in state.replicas
    )


def _goes_on(state: PartitionState, live: Set[int], min_insync_replicas: int) -> bool:
    enough = len(live & set(state.replicas)) >= effective_min_isr(state, min_insync_replicas)
    return enough and choose_leader(state, live) != NO_LEADER
