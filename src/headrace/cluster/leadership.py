"""Changes of leaders that nothing forces: back to the preferred replica, or by ElectLeaders."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.elect import Election, effective_min_isr, elect, lead
from headrace.cluster.entities import PartitionState
from headrace.cluster.image import Image
from headrace.cluster.rewrite import NO_FENCE, Rewrite, alive, commit_rewrites, each_partition, topic_configs
from headrace.cluster.store import Commit
from headrace.cluster.topic_config import TopicConfig
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.replicas import ElectionType


class ElectionOutcome(NamedTuple):
    code: ErrorCode = ErrorCode.NONE
    message: str = ""


class Elections(NamedTuple):
    outcomes: Mapping[TopicPartition, ElectionOutcome]
    commits: list[Commit]
    unclean: int


def balance_leaders(
    image: Image,
    live: Mapping[int, int],
    limit: int,
    reluctant: Collection[int] = (),
    fence: Mapping[str, int] = NO_FENCE,
) -> list[Commit]:
    """Gives leadership back to preferred replicas that are in sync again: `limit` partitions at a time."""
    staying = alive(image, live).difference(reluctant)
    rewrites: list[Rewrite] = []
    for topic, index, state in each_partition(image):
        if len(rewrites) == limit:
            break
        if state.leader != state.replicas[0] and _can_lead(state, state.replicas[0], staying):
            rewrites.append(Rewrite(topic, index, lead(state, state.replicas[0])))
    return commit_rewrites(rewrites, fence)


def elect_leaders(
    image: Image,
    live: Mapping[int, int],
    election_type: int,
    partitions: Iterable[TopicPartition] | None,
    defaults: BrokerConfig,
    fence: Mapping[str, int] = NO_FENCE,
    full: Collection[int] = (),
) -> Elections:
    """Elects leaders for these partitions, or for all; then those that need no election are not listed, as in Kafka's
    reply.

    `full` are brokers without room on their disk: they do not get leaderships back that they handed over.
    """
    if election_type not in list(ElectionType):
        raise Refused(ErrorCode.INVALID_REQUEST, f"election type {election_type}; 0 is preferred, 1 is unclean")
    ready, config_of = alive(image, live), topic_configs(defaults)
    asked = _all(image) if partitions is None else partitions
    outcomes: dict[TopicPartition, ElectionOutcome] = {}
    rewrites: list[Rewrite] = []
    unclean = 0
    for each in dict.fromkeys(asked):
        state = image.partition(*each)
        if state is None or not state.replicas:
            outcomes[each] = ElectionOutcome(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {each}")
            continue
        topic = image.topics[each.topic]
        decide = _elect_preferred if election_type == ElectionType.PREFERRED else _elect_uncleanly
        outcome = decide(state, ready, full, config_of(topic))
        if isinstance(outcome, Election):
            rewrites.append(Rewrite(topic, each.partition, outcome.state))
            unclean += outcome.unclean
            outcomes[each] = ElectionOutcome()
        elif partitions is not None or outcome.code != ErrorCode.ELECTION_NOT_NEEDED:
            outcomes[each] = outcome
    return Elections(outcomes, commit_rewrites(rewrites, fence), unclean)


def _all(image: Image) -> Iterable[TopicPartition]:
    return (TopicPartition(topic.name, index) for topic, index, _ in each_partition(image))


def _elect_preferred(
    state: PartitionState, ready: Collection[int], full: Collection[int], _: TopicConfig
) -> Election | ElectionOutcome:
    preferred = state.replicas[0]
    if state.leader == preferred:
        return ElectionOutcome(
            ErrorCode.ELECTION_NOT_NEEDED, f"broker {preferred}, the preferred leader, leads already"
        )
    if _can_lead(state, preferred, ready):
        if preferred in full and state.leader in ready and state.leader not in full:
            why = f"has no room on its disk, and broker {state.leader} has. Free space or lower retention"
            return ElectionOutcome(
                ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, f"broker {preferred}, the preferred leader, {why}"
            )
        return Election(lead(state, preferred))
    why = "not in sync" if preferred in ready else "not alive"
    return ElectionOutcome(
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, f"broker {preferred}, the preferred leader, is {why}"
    )


def _elect_uncleanly(
    state: PartitionState, ready: Collection[int], full: Collection[int], config: TopicConfig
) -> Election | ElectionOutcome:
    if state.leader in ready:
        return ElectionOutcome(ErrorCode.ELECTION_NOT_NEEDED, f"broker {state.leader} leads")
    election = elect(state, ready, full, min_isr=effective_min_isr(state, config.min_insync_replicas), unclean=True)
    if election is not None and election.state.leader in ready:
        return election
    return ElectionOutcome(
        ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, f"none of the replicas {list(state.replicas)} is alive"
    )


def _can_lead(state: PartitionState, replica: int, ready: Collection[int]) -> bool:
    return replica in ready and replica in state.isr and replica not in state.damaged
