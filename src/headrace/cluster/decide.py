"""What the controller does about the cluster as it is: an image and the brokers alive in, commits out.

Level-triggered: `heal` says what is left to do whatever happened before, so it is run on take-over and after every
change until it is empty, and a controller that dies half-way leaves nothing that the next would not find. A broker
counts as alive when it holds its lease under the epoch it is registered with.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import sweep_orphans
from headrace.cluster.elect import Election, effective_min_isr, elect
from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.cluster.reassign import finish
from headrace.cluster.rewrite import NO_FENCE, Rewrite, alive, commit_rewrites, each_partition, topic_configs
from headrace.cluster.store import Commit
from headrace.cluster.topic_config import TopicConfig


class Decision(NamedTuple):
    commits: list[Commit]
    unclean: int = 0
    """How many partitions they give to a leader that may lack committed records."""


def heal(
    image: Image,
    live: Mapping[int, int],
    leaving: Collection[int],
    defaults: BrokerConfig,
    fence: Mapping[str, int] = NO_FENCE,
    abandoned: Collection[bytes] = (),
) -> Decision:
    """Leaders for partitions whose leader is gone or going, the dead out of the ISRs, moves that are complete, orphans.

    `abandoned` are topic ids whose orphans nobody is working on: those of a creation that is going on look the same,
    and would be swept from under it.
    """
    ready, config_of = alive(image, live), topic_configs(defaults)
    staying = ready.difference(leaving)
    urgent: list[Rewrite] = []
    others: list[Rewrite] = []
    unclean = 0
    for topic in image.topics.values():
        for index, state in enumerate(topic.partitions):
            if _is_well(state, staying, ready):
                continue
            after = _settle(state, ready, leaving, config_of(topic))
            if after is None:
                continue
            unclean += after.unclean
            (others if after.state.leader == state.leader else urgent).append(Rewrite(topic, index, after.state))
    sweeps = sweep_orphans(image, abandoned, fence) if abandoned else []
    return Decision([*commit_rewrites(urgent, fence), *commit_rewrites(others, fence), *sweeps], unclean)


def _is_well(state: PartitionState, staying: frozenset[int], ready: frozenset[int]) -> bool:
    """Most are, of a hundred thousand: the quick test."""
    if state.leader not in staying:
        return not state.replicas
    return ready.issuperset(state.isr) and not (state.elr or state.adding or state.removing)


def _settle(
    state: PartitionState, ready: Collection[int], leaving: Collection[int], config: TopicConfig
) -> Election | None:
    min_isr = effective_min_isr(state, config.min_insync_replicas)
    election = elect(state, ready, leaving, min_isr=min_isr, unclean=config.unclean_leader_election_enable)
    led, unclean = election or Election(state)
    after = finish(led, ready, leaving)
    return None if after is state else Election(after, unclean)


def shut_down(
    image: Image,
    broker_id: int,
    live: Mapping[int, int],
    leaving: Collection[int],
    defaults: BrokerConfig,
    fence: Mapping[str, int] = NO_FENCE,
) -> list[Commit]:
    """Gives what a broker leads to others in sync. Empty when it leads only what nobody else can: it may stop."""
    ready, config_of = alive(image, live), topic_configs(defaults)
    going = {*leaving, broker_id}
    rewrites = []
    for topic, index, state in each_partition(image):
        if state.leader == broker_id:
            after = _settle(state, ready, going, config_of(topic))
            if after is not None and after.state.leader != broker_id and not after.unclean:
                rewrites.append(Rewrite(topic, index, after.state))
    return commit_rewrites(rewrites, fence)
