"""How a broker that starts comes back: what it may no longer claim is taken from it before it is registered.

    it led a partition         another in sync leads, or nobody for the moment: a new life never goes on in an epoch of
                               the old one, whose unsynced tail the followers may have copied
    its log is damaged         it leaves ISR and ELR; the last in sync stays and is marked, and the partition is offline
                               until an unclean election
    it lost the page cache     the same on relaxed topics, except that the last in sync may lead: an unclean election

While a broker waits for this, a leader may still add it to an ISR on the strength of what its old life fetched. So its
registration is fenced first, by a commit of its own, and what has to go is decided on an image that shows it.
"""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Final, NamedTuple

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.elect import choose_leader, lead
from headrace.cluster.entities import FENCED, Broker, PartitionState
from headrace.cluster.image import Image
from headrace.cluster.records import broker_key, encode
from headrace.cluster.registration import register_broker
from headrace.cluster.rewrite import Rewrite, alive, commit_rewrites, each_partition, topic_configs
from headrace.cluster.store import Commit

_NOBODY: Final[Mapping[int, int]] = {}


class Rejoin(NamedTuple):
    commits: list[Commit]
    """In this order. After a conflict look again and decide again."""
    broker: Broker | None
    """As the last commit registers it. None: it is only fenced by then, so call again on an image that shows it."""
    unclean: int = 0


class _Doubt(Enum):
    DAMAGED = "damaged"
    UNSYNCED = "unsynced"


def rejoin(
    image: Image,
    broker: Broker,
    damaged: Collection[tuple[bytes, int]],
    lost_page_cache: bool,
    defaults: BrokerConfig,
    live: Mapping[int, int] = _NOBODY,
) -> Rejoin:
    """`damaged` are (topic id, partition). The epoch is the broker's own, that of its lease, or a fresh one for 0.

    `Refused` when the number belongs to another data directory: before anything is written.
    """
    fresh, (_, expect) = register_broker(image, broker)
    doubts = _doubts(image, broker.id, damaged, lost_page_cache, defaults)
    known = image.brokers.get(broker.id)
    if doubts and known is not None and known.epoch != FENCED:
        return Rejoin([Commit({broker_key(known.id): encode(known._replace(epoch=FENCED))}, expect)], None)
    rewrites, unclean = _take_back(image, broker.id, doubts, alive(image, live))
    # Every commit expects the registration as it is, so each has room for one more operation: the last writes it.
    *commits, last = commit_rewrites(rewrites, expect) or [Commit({}, expect)]
    commits.append(Commit({**last.puts, broker_key(broker.id): encode(fresh)}, last.expect))
    return Rejoin(commits, fresh, unclean)


def _doubts(
    image: Image, broker_id: int, damaged: Collection[tuple[bytes, int]], lost_page_cache: bool, defaults: BrokerConfig
) -> dict[tuple[bytes, int], _Doubt]:
    config_of = topic_configs(defaults)
    doubts = {}
    for topic, index, state in each_partition(image):
        if broker_id in state.replicas:
            if (topic.id, index) in damaged:
                doubts[topic.id, index] = _Doubt.DAMAGED
            elif lost_page_cache and not topic.internal and not config_of(topic).is_durable:
                doubts[topic.id, index] = _Doubt.UNSYNCED
    return doubts


def _take_back(
    image: Image, broker_id: int, doubts: Mapping[tuple[bytes, int], _Doubt], live: Collection[int]
) -> tuple[list[Rewrite], int]:
    """With the number of partitions that it will lead although it may lack committed records."""
    rewrites, unclean = [], 0
    for topic, index, state in each_partition(image):
        if broker_id in state.replicas:
            doubt = doubts.get((topic.id, index))
            after = _stood_down(_doubted(state, broker_id, doubt), broker_id, live)
            unclean += doubt is _Doubt.UNSYNCED and after.isr == (broker_id,) and not after.damaged
            if after is not state:
                rewrites.append(Rewrite(topic, index, after))
    return rewrites, unclean


def _doubted(state: PartitionState, broker_id: int, doubt: _Doubt | None) -> PartitionState:
    if doubt is None or (broker_id not in state.isr and broker_id not in state.elr):
        return state
    isr, elr, marked = state.isr, state.elr, state.damaged
    if isr != (broker_id,):
        isr, elr = _without(isr, broker_id), _without(elr, broker_id)
    elif doubt is _Doubt.DAMAGED:
        marked = isr
    else:
        # It will lead, and whoever follows it may have to cut committed records.
        elr = ()
    if (isr, elr, marked) == (state.isr, state.elr, state.damaged):
        return state
    return state._replace(isr=isr, elr=elr, damaged=marked, partition_epoch=state.partition_epoch + 1)


def _stood_down(state: PartitionState, broker_id: int, live: Collection[int]) -> PartitionState:
    """Its place in the ISR stays. From the ELR nobody is called: `heal` does that, if this broker may not lead."""
    if state.leader != broker_id:
        return state
    return lead(state, choose_leader(state, [each for each in state.isr if each in live and each != broker_id]))


def _without(replicas: tuple[int, ...], broker_id: int) -> tuple[int, ...]:
    return tuple(each for each in replicas if each != broker_id)
