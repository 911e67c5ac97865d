"""The whole cluster at one moment, as its brokers tell it: who is there, who leads what, what each replica holds.

Asked of several brokers one after the other, so parts of it may be a few milliseconds apart; a broker that does not
answer is missing from the sizes and lags, and nothing else.
"""

from collections.abc import Mapping
from typing import NamedTuple

from headrace.admin.admin import Admin
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.connection import Disconnected
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.replicas import OngoingPartitionReassignment


class BrokerSeen(NamedTuple):
    id: int
    host: str
    port: int
    rack: str | None
    is_alive: bool
    total_bytes: int | None = None
    free_bytes: int | None = None


class ReplicaSeen(NamedTuple):
    size_bytes: int
    lag: int | None
    """Offsets behind what is committed; None when the replica does not know yet."""


class PartitionSeen(NamedTuple):
    id: TopicPartition
    leader: int | None
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    held: Mapping[int, ReplicaSeen] = {}
    """The replicas that were found, by the broker that reported its own."""

    @property
    def is_moving(self) -> bool:
        return bool(self.adding or self.removing)

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is out of sync; those that a move adds are not missed before they have come."""
        return not set(self.isr) >= set(self.replicas).difference(self.adding)

    @property
    def targets(self) -> tuple[int, ...]:
        return tuple(each for each in self.replicas if each not in self.removing)

    @property
    def size_bytes(self) -> int:
        """The bytes that a new replica has to copy."""
        if self.leader is not None and self.leader in self.held:
            return self.held[self.leader].size_bytes
        return max((replica.size_bytes for replica in self.held.values()), default=0)


class Survey(NamedTuple):
    cluster_id: str
    controller: int | None
    brokers: Mapping[int, BrokerSeen]
    partitions: Mapping[TopicPartition, PartitionSeen]

    @property
    def live(self) -> list[BrokerSeen]:
        return [broker for broker in self.brokers.values() if broker.is_alive]

    @property
    def moving(self) -> list[PartitionSeen]:
        return [partition for partition in self.partitions.values() if partition.is_moving]


async def survey(admin: Admin, only_allowed: bool = False) -> Survey:
    """With `only_allowed`, who may not see the moves of the cluster sees the rest."""
    described = await admin.describe_cluster()
    brokers = {
        each.broker_id: BrokerSeen(each.broker_id, each.host, each.port, each.rack, not each.is_fenced)
        for each in sorted(described.brokers, key=lambda each: each.broker_id)
    }
    held: dict[TopicPartition, dict[int, ReplicaSeen]] = {}
    for broker in [broker for broker in brokers.values() if broker.is_alive]:
        brokers[broker.id] = await _look_at_disk(admin, broker, held)
    controller = described.controller_id if described.controller_id in brokers else None
    moves = await _moves(admin, only_allowed)
    return Survey(described.cluster_id, controller, brokers, await _partitions(admin, held, moves))


async def _look_at_disk(
    admin: Admin, broker: BrokerSeen, held: dict[TopicPartition, dict[int, ReplicaSeen]]
) -> BrokerSeen:
    try:
        directories = (await admin.log_dirs(broker.id)).results
    except (Disconnected, Refused):
        return broker
    for directory in directories:
        for topic in directory.topics:
            for part in topic.partitions:
                lag = part.offset_lag if part.offset_lag >= 0 else None
                replicas = held.setdefault(TopicPartition(topic.name, part.partition_index), {})
                replicas[broker.id] = ReplicaSeen(part.partition_size, lag)
    known = [each for each in directories if each.total_bytes >= 0]
    if not known:
        return broker
    return broker._replace(
        total_bytes=sum(each.total_bytes for each in known), free_bytes=sum(each.usable_bytes for each in known)
    )


async def _moves(admin: Admin, only_allowed: bool) -> dict[TopicPartition, OngoingPartitionReassignment]:
    try:
        topics = (await admin.reassignments()).topics
    except Refused as refusal:
        if not only_allowed or refusal.code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        return {}
    return {TopicPartition(topic.name, part.partition_index): part for topic in topics for part in topic.partitions}


async def _partitions(
    admin: Admin,
    held: Mapping[TopicPartition, Mapping[int, ReplicaSeen]],
    moves: Mapping[TopicPartition, OngoingPartitionReassignment],
) -> dict[TopicPartition, PartitionSeen]:
    seen: dict[TopicPartition, PartitionSeen] = {}
    for topic in sorted((await admin.metadata()).topics, key=lambda topic: topic.name or ""):
        for part in sorted(topic.partitions, key=lambda part: part.partition_index):
            id = TopicPartition(topic.name or "", part.partition_index)
            move = moves.get(id)
            if move is not None and move.replicas != part.replica_nodes:
                # It ended, or began, between the two questions.
                move = None
            seen[id] = PartitionSeen(
                id,
                part.leader_id if part.leader_id >= 0 else None,
                tuple(part.replica_nodes),
                tuple(part.isr_nodes),
                tuple(move.adding_replicas) if move else (),
                tuple(move.removing_replicas) if move else (),
                held.get(id, {}),
            )
    return seen
