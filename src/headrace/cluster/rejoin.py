"""The return of a broker: before it is registered, it loses the leaderships and ISR places it may no longer claim.

    it led a partition         another in sync leads, or nobody for the moment: a new life never goes on in an epoch of
                               the old one, whose unsynced tail the followers may have copied
    its log is damaged         it leaves ISR and ELR; the last in sync stays and is marked, and the partition is offline
                               until an unclean election
    its log may be damaged     the same, except that the last in sync stays as it is
    its log has later epochs   the metadata was restored from an older snapshot: the leader epoch is raised well above them,
                               since epochs that go back would make sound records look like those of a lost history
    it lost the page cache     the same where acks rested on it, except that the last in sync may lead: an unclean election

While a broker waits for this, a leader may still add it to an ISR on the strength of its old life's fetches. So its
registration is fenced first, by a commit of its own, and the rest is decided on an image that shows it.
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
_NO_EPOCHS: Final[Mapping[tuple[bytes, int], int]] = {}

# Other replicas may have later epochs still, which they name when they come back; until then none of these is used again.
EPOCHS_APART: Final = 1000


class Rejoin(NamedTuple):
    commits: list[Commit]
    """In this order. After a conflict look again and decide again."""
    broker: Broker | None
    """The broker as the last commit registers it. None: it is only fenced by then, so call again on an image that shows
    it.
    """
    unclean: int = 0


class Doubt(Enum):
    """The reason why a broker's copy of a partition may lack committed records."""

    DAMAGED = "damaged"
    UNSURE = "unsure"
    """A copy that cannot be opened, or whose unacknowledged end a power cut may have reordered. Others in sync, or
    eligible to lead, know better, but of several that are all unsure the last one must not be given up too: nothing is
    known to be wrong with it.
    """
    UNSYNCED = "unsynced"


Doubts = Mapping[tuple[bytes, int], Doubt]
"""Doubts by topic id and partition."""


def rejoin(
    image: Image,
    broker: Broker,
    doubts: Doubts,
    lost_page_cache: bool,
    defaults: BrokerConfig,
    live: Mapping[int, int] = _NOBODY,
    epochs: Mapping[tuple[bytes, int], int] = _NO_EPOCHS,
) -> Rejoin:
    """The commits that bring a broker back under its own epoch, that of its lease, or a fresh one for 0.

    `doubts` are those of recovery; `epochs` the latest leader epoch in the log of each. `Refused` when the number
    belongs to another data directory: before anything is written.
    """
    fresh, (_, expect) = register_broker(image, broker)
    doubts = _all_doubts(image, broker.id, doubts, lost_page_cache, defaults)
    known = image.brokers.get(broker.id)
    if doubts and known is not None and known.epoch != FENCED:
        return Rejoin([Commit({broker_key(known.id): encode(known._replace(epoch=FENCED))}, expect)], None)
    rewrites, unclean = _take_back(image, broker.id, doubts, alive(image, live), epochs)
    # Every commit expects the registration as it is, so each has room for one more operation: the last writes it.
    *commits, last = commit_rewrites(rewrites, expect) or [Commit({}, expect)]
    commits.append(Commit({**last.puts, broker_key(broker.id): encode(fresh)}, last.expect))
    return Rejoin(commits, fresh, unclean)


def _all_doubts(image: Image, broker_id: int, found: Doubts, lost_page_cache: bool, defaults: BrokerConfig) -> Doubts:
    config_of = topic_configs(defaults)
    doubts = {}
    for topic, index, state in each_partition(image):
        if broker_id in state.replicas:
            doubt = found.get((topic.id, index))
            if doubt is not Doubt.DAMAGED and lost_page_cache and not config_of(topic).is_durable:
                doubt = Doubt.UNSYNCED
            if doubt is not None:
                doubts[topic.id, index] = doubt
    return doubts


def _take_back(
    image: Image,
    broker_id: int,
    doubts: Doubts,
    live: Collection[int],
    epochs: Mapping[tuple[bytes, int], int],
) -> tuple[list[Rewrite], int]:
    """The changed partitions, and the number that the broker will lead although it may lack committed records."""
    rewrites, unclean = [], 0
    for topic, index, state in each_partition(image):
        if broker_id in state.replicas:
            doubt = doubts.get((topic.id, index))
            raised = _raised(state, epochs.get((topic.id, index), -1))
            after = stood_down(doubted(raised, broker_id, doubt), broker_id, live)
            unclean += doubt is Doubt.UNSYNCED and after.isr == (broker_id,) and not after.damaged
            if after is not state:
                rewrites.append(Rewrite(topic, index, after))
    return rewrites, unclean


def _raised(state: PartitionState, own_epoch: int) -> PartitionState:
    """The state with a leader epoch above every epoch in the log. The next leader goes on in it; the ISR is the best
    known."""
    if own_epoch <= state.leader_epoch:
        return state
    return state._replace(leader_epoch=own_epoch + EPOCHS_APART, partition_epoch=state.partition_epoch + 1)


def doubted(state: PartitionState, broker_id: int, doubt: Doubt | None) -> PartitionState:
    """The state with the broker out of ISR and ELR; the leader is as before.

    The last in sync gives its place to those that are eligible, since they have every committed record too; without any
    it stays, marked if it is surely damaged.
    """
    if doubt is None or (broker_id not in state.isr and broker_id not in state.elr):
        return state
    isr, elr, marked = state.isr, state.elr, state.damaged
    if isr != (broker_id,):
        isr, elr = _without(isr, broker_id), _without(elr, broker_id)
    elif elr and doubt is Doubt.UNSURE:
        isr, elr = elr, ()
    elif doubt is Doubt.DAMAGED:
        marked = isr
    elif doubt is Doubt.UNSYNCED:
        # It will lead, and whoever follows it may have to cut committed records.
        elr = ()
    if (isr, elr, marked) == (state.isr, state.elr, state.damaged):
        return state
    return state._replace(isr=isr, elr=elr, damaged=marked, partition_epoch=state.partition_epoch + 1)


def stood_down(state: PartitionState, broker_id: int, live: Collection[int]) -> PartitionState:
    """The state with another leader; the broker stays in the ISR. Members of the ELR are not elected: `heal` does that."""
    if state.leader != broker_id:
        return state
    return lead(state, choose_leader(state, [each for each in state.isr if each in live and each != broker_id]))


def _without(replicas: tuple[int, ...], broker_id: int) -> tuple[int, ...]:
    return tuple(each for each in replicas if each != broker_id)
