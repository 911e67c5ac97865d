"""The moment of a cluster that a backup holds: settings, topics, group offsets, and where each partition begins and ends.

    1. topics, settings, feature levels, users and rules
    2. the offsets of all groups
    3. how far each partition is (high watermarks)
    4. each partition ends where nothing below is undecided any more (last stable offset), which is at 3. or later

A group that commits its offsets in the transaction of its results has them in 2., and then its results are below 3., and
decided below 4.: a restored group never misses what it has not worked on. It may see again what it did between 2. and 4. No
offset is beyond the end of its partition. Different partitions end at slightly different times: of a transaction that
ended just then, one partition may have its records and another not.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from headrace.admin.admin import BROKER, TOPIC, Admin, Resource
from headrace.admin.configs import ALL_BROKERS, SOURCES, Config, describe_configs
from headrace.admin.coordinators import COME_AGAIN
from headrace.admin.groups import GroupListed, list_groups
from headrace.admin.lag import committed_by
from headrace.backup.access import Access, access_of
from headrace.backup.features import feature_levels
from headrace.backup.manifest import SavedGroup, SavedOffset
from headrace.backup.rights import require_rights_to_save
from headrace.backup.turns import in_turns
from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition, format_id
from headrace.client.cluster_client import EARLIEST, ClusterClient
from headrace.client.cluster_metadata import ClusterMetadata, TopicMetadata
from headrace.client.connection import Disconnected
from headrace.client.decided_ends import StillOpen, decided_ends
from headrace.client.retry import insist
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

# What a gateway remembers of requests for eleven minutes: restored later, it would vouch for records that are not there.
LEFT_OUT: Final = "_headrace_idempotency"
RESTORING: Final = "headrace.restoring"
_OFFSETS_TOPIC: Final = "__consumer_offsets"
# They name brokers, and are gone when the move is done.
_OF_A_MOVE: Final = frozenset({"follower.replication.throttled.replicas", "leader.replication.throttled.replicas"})
MOVING_SECONDS_MAX: Final = 60.0
_PASSING: Final = COME_AGAIN | {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
ASKED_AT_ONCE: Final = 16


class TopicLook(NamedTuple):
    name: str
    id: str
    partitions: int
    replication_factor: int
    settings: Mapping[str, str]
    compacted: bool
    """Whether the topic is compacted, by its own setting or the brokers'."""


class Bounds(NamedTuple):
    start: int
    end: int


class Moment(NamedTuple):
    cluster_id: str
    created_ms: int
    settings: Mapping[str, str]
    topics: tuple[TopicLook, ...]
    groups: tuple[SavedGroup, ...]
    bounds: Mapping[TopicPartition, Bounds]
    features: Mapping[str, int]
    left_out: tuple[str, ...]
    """Parts of the cluster that no backup holds, in words."""
    access: Access


async def look(
    admin: Admin, client: ClusterClient, wanted: Collection[str], patience_seconds: float, *, with_access: bool
) -> Moment:
    """A consistent look at these topics, or at all; waits up to `patience_seconds` for open transactions to end.

    Begins again when a broker dies, a coordinator moves or a topic goes in the midst of it.
    """

    async def once() -> Moment:
        await require_rights_to_save(admin, wanted, with_access=with_access)
        access = await access_of(admin) if with_access else Access((), (), ())
        return await _look(admin, client, wanted, patience_seconds, access)

    return await insist(once, MOVING_SECONDS_MAX, passes=_begins_again)


def _begins_again(error: Refused | Disconnected) -> bool:
    return isinstance(error, Disconnected) or error.code in _PASSING


async def _look(
    admin: Admin, client: ClusterClient, wanted: Collection[str], patience_seconds: float, access: Access
) -> Moment:
    created_ms = int(time.time() * 1000)
    seen = await client.metadata()
    topics = await in_turns([_topic(admin, each) for each in _chosen(seen, wanted)], ASKED_AT_ONCE)
    settings = _chosen_settings(await describe_configs(admin, Resource(BROKER, ALL_BROKERS)))
    features, left_out = (await feature_levels(admin)).now, (*await _left_out(admin), *access.left_out)
    ids = [TopicPartition(topic.name, number) for topic in topics for number in range(topic.partitions)]
    groups = await _groups(admin, {topic.id: topic.name for topic in seen.topics.values()})
    ends = await _decided_ends(client, ids, patience_seconds)
    starts = await client.offsets(dict.fromkeys(ids, EARLIEST))
    bounds = {id: Bounds(min(starts[id].offset, ends[id]), ends[id]) for id in ids}
    kept = _within(groups, bounds)
    return Moment(seen.cluster_id, created_ms, settings, tuple(topics), kept, bounds, features, left_out, access)


def _chosen(seen: ClusterMetadata, wanted: Collection[str]) -> list[TopicMetadata]:
    for name in wanted:
        topic = seen.topics.get(name)
        if topic is None or topic.error_code:
            raise UserError(f"there is no topic {name}", "`headrace topic list` shows the topics")
    ours = [each for each in seen.topics.values() if not each.is_internal and not each.name.startswith(LEFT_OUT)]
    return [each for each in ours if not wanted or each.name in wanted]


async def _topic(admin: Admin, seen: TopicMetadata) -> TopicLook:
    found = await describe_configs(admin, Resource(TOPIC, seen.name))
    settings = _chosen_settings(found)
    if settings.pop(RESTORING, ""):
        raise UserError(
            f"{seen.name} is being restored, and holds a part only",
            "wait until that is done, finish it with the same `headrace backup restore`, or delete the topic",
        )
    copies = max((len(each.replicas) for each in seen.partitions.values()), default=1)
    compacted = any(each.name == "cleanup.policy" and "compact" in (each.value or "") for each in found)
    return TopicLook(seen.name, format_id(seen.id), len(seen.partitions), copies, settings, compacted)


def _chosen_settings(found: Iterable[Config]) -> dict[str, str]:
    """Settings that somebody chose, without those a broker was started with. Passwords are never told, and so never here."""
    chosen = [each for each in found if each.source in (SOURCES[1], SOURCES[3]) and each.name not in _OF_A_MOVE]
    return {each.name: each.value for each in chosen if each.value is not None}


async def _left_out(admin: Admin) -> tuple[str, ...]:
    """Settings of single brokers belong to their machines: another cluster's broker of that number may have another one."""
    brokers = [each.broker_id for each in (await admin.describe_cluster()).brokers if not each.is_fenced]
    found = {id: await describe_configs(admin, Resource(BROKER, str(id))) for id in sorted(brokers)}
    own = {id: [each.name for each in settings if each.source == SOURCES[2]] for id, settings in found.items()}
    return tuple(f"settings of broker {id} alone: {', '.join(names)}" for id, names in own.items() if names)


# -- groups ------------------------------------------------------------------------------------------------------------


async def _groups(admin: Admin, names: Mapping[bytes, str]) -> list[SavedGroup]:
    return await in_turns([_group(admin, each, names) for each in await _all_groups(admin)], ASKED_AT_ONCE)


async def _all_groups(admin: Admin) -> list[GroupListed]:
    """Each broker lists those that it coordinates, so while one is dead, or hands over, the lists together may lack some.

    They lack none if every partition of the groups' topic was led by one of them, by its own account before and after.
    """
    before = await _led(admin)
    listed = await list_groups(admin)
    if before is None or await _led(admin) != before:
        raise Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, "a part of the groups has no coordinator at the moment")
    return listed


async def _led(admin: Admin) -> dict[int, tuple[int, int]] | None:
    """Leader and epoch of each partition of the groups' topic, as the leader itself reports them; None if one has no
    leader.
    """
    led: dict[int, tuple[int, int]] = {}
    count = 0
    alive = [each.broker_id for each in (await admin.describe_cluster()).brokers if not each.is_fenced]
    for broker_id in alive:
        request = MetadataRequest([MetadataRequestTopic(name=_OFFSETS_TOPIC)], allow_auto_topic_creation=False)
        (topic,) = (await admin.ask_broker(broker_id, request, MetadataResponse)).topics
        count = max(count, len(topic.partitions))
        ours = [each for each in topic.partitions if each.leader_id == broker_id]
        led.update({each.partition_index: (broker_id, each.leader_epoch) for each in ours})
    # With every broker fenced for a moment nobody tells even how many partitions there are.
    return led if alive and len(led) == count else None


async def _group(admin: Admin, listed: GroupListed, names: Mapping[bytes, str]) -> SavedGroup:
    try:
        commits = await committed_by(admin, listed.group, names)
    except Refused as refusal:
        # It was deleted, or its last offset ran out, just now.
        if refusal.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        commits = {}
    offsets = [SavedOffset(*id, commit.offset, commit.metadata) for id, commit in sorted(commits.items())]
    return SavedGroup(listed.group, listed.type, tuple(offsets))


def _within(groups: list[SavedGroup], bounds: Mapping[TopicPartition, Bounds]) -> tuple[SavedGroup, ...]:
    """Groups with their offsets in these partitions, none beyond the end, where a read_uncommitted reader may be."""
    kept = []
    for group in groups:
        offsets = tuple(
            each._replace(offset=min(each.offset, bounds[each.id].end)) for each in group.offsets if each.id in bounds
        )
        if offsets:
            kept.append(group._replace(offsets=offsets))
    return tuple(kept)


# -- ends --------------------------------------------------------------------------------------------------------------


async def _decided_ends(
    client: ClusterClient, ids: Collection[TopicPartition], patience_seconds: float
) -> dict[TopicPartition, int]:
    try:
        return await decided_ends(client, ids, patience_seconds)
    except StillOpen as still:
        raise UserError(
            f"a transaction on {still.partition} is still open after {patience_seconds:.0f} s",
            "`headrace txn list` shows whose; end it, or give it more time with --wait",
        ) from None
