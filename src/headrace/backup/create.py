"""Makes a backup: the moment, then every partition, then the manifest.

Whatever ends it before that, the folder holds the backups that it held, and files that the next run takes away.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

from headrace.admin.admin import Admin
from headrace.backup.copying import PartitionCopy
from headrace.backup.folder import Folder
from headrace.backup.manifest import Backup, SavedPartition, SavedTopic
from headrace.backup.moment import Moment, TopicLook, look
from headrace.backup.tally import Tally
from headrace.backup.turns import in_turns
from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition, format_id
from headrace.client.cluster_client import ClusterClient
from headrace.wire.codes import ErrorCode

COPIED_AT_ONCE: Final = 8


class Created(NamedTuple):
    backup: Backup
    copied_bytes: int
    """The rest was there from earlier backups."""
    gone: tuple[str, ...]
    """Topics that were deleted meanwhile."""
    left_out: tuple[str, ...]
    """Parts of the cluster that no backup holds."""


class Extent(NamedTuple):
    """The parts of a cluster that a backup is asked to hold, and the patience with what is still open."""

    topics: Collection[str] = ()
    """All, if none is named; then with what belongs to the cluster."""
    access: bool = True
    """Whether users and rules are saved too, if it is of all topics."""
    patience_seconds: float = 60.0
    """How long open transactions may take to end."""


async def create(admin: Admin, client: ClusterClient, folder: Folder, asked: Extent, tally: Tally) -> Created:
    with folder.locked():
        earlier, is_all = _readable(folder)
        with_access = asked.access and not asked.topics
        moment = await look(admin, client, asked.topics, asked.patience_seconds, with_access=with_access)
        for each in earlier:
            if each.cluster_id != moment.cluster_id:
                raise UserError(
                    f"{folder.path} holds backups of cluster {each.cluster_id}, this is cluster {moment.cluster_id}",
                    "keep each cluster in a folder of its own",
                )
        if is_all:
            folder.remove_all_but({file.name for each in earlier for file in each.files})
        tally.offsets_total = sum(each.end - each.start for each in moment.bounds.values())
        known = {topic.id: topic for backup in earlier for topic in backup.topics}
        copied = await _copy_all(client, folder, moment, known, tally)
        # One that was made anew under its name has another id, and what was copied may be of either.
        there = {name: format_id(topic.id) for name, topic in (await client.metadata()).topics.items()}
        gone = tuple(
            each.name for each in moment.topics if there.get(each.name) != each.id or not _is_whole(each, copied)
        )
        saved = tuple(_saved(topic, copied) for topic in moment.topics if topic.name not in gone)
        groups = [
            group._replace(offsets=tuple(each for each in group.offsets if each.topic not in gone))
            for group in moment.groups
        ]
        backup = Backup(
            folder.new_id(moment.created_ms),
            moment.created_ms,
            moment.cluster_id,
            moment.settings,
            saved,
            tuple(group for group in groups if group.offsets),
            moment.features,
            moment.access.users,
            moment.access.acls,
        )
        folder.save(backup)
    return Created(backup, tally.bytes, gone, moment.left_out)


def _readable(folder: Folder) -> tuple[list[Backup], bool]:
    """The backups that are there, and whether these are all: one that is damaged may still name files."""
    readable, ids = [], folder.ids()
    for id in ids:
        with suppress(UserError):
            readable.append(folder.read(id))
    return readable, len(readable) == len(ids)


async def _copy_all(
    client: ClusterClient, folder: Folder, moment: Moment, known: Mapping[str, SavedTopic], tally: Tally
) -> dict[TopicPartition, SavedPartition]:
    """Copies all partitions; those of topics that are gone meanwhile are left out."""

    async def copy(topic: TopicLook, number: int) -> tuple[TopicPartition, SavedPartition | None]:
        id = TopicPartition(topic.name, number)
        run = PartitionCopy(client, folder, id, topic.id, tally)
        try:
            return id, await run.run(moment.bounds[id], _to_go_on_with(topic, number, known.get(topic.id)))
        except Refused as refusal:
            if refusal.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                return id, None
            raise

    work = [copy(topic, number) for topic in moment.topics for number in range(topic.partitions)]
    return {id: saved for id, saved in await in_turns(work, COPIED_AT_ONCE) if saved is not None}


def _to_go_on_with(topic: TopicLook, number: int, known: SavedTopic | None) -> SavedPartition | None:
    if known is None or number >= len(known.partitions) or topic.compacted or known.compacted:
        return None
    return known.partitions[number]


def _is_whole(topic: TopicLook, copied: Mapping[TopicPartition, SavedPartition]) -> bool:
    return all(TopicPartition(topic.name, number) in copied for number in range(topic.partitions))


def _saved(topic: TopicLook, copied: Mapping[TopicPartition, SavedPartition]) -> SavedTopic:
    partitions = tuple(copied[TopicPartition(topic.name, number)] for number in range(topic.partitions))
    return SavedTopic(topic.name, topic.id, topic.replication_factor, topic.settings, topic.compacted, partitions)
