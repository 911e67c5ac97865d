"""Carries out the plan of a restore: every file checked, then topic by topic made, filled and given its own settings.

A topic that is being filled says so by a setting, which goes with the change that gives the topic its own: one that does
not say so is whole. A restore that was interrupted goes on where each partition ends, since offsets are those of the backup.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

from headrace.admin.admin import BROKER, TOPIC, Admin, Resource
from headrace.admin.configs import ALL_BROKERS
from headrace.admin.groups import NewCommit, commit, describe_groups, list_groups
from headrace.admin.topics import create_topic, delete_topic
from headrace.backup.access import names_of_users, put_rules, put_users, rules_of
from headrace.backup.batches import Restorable, next_sequence, restorable
from headrace.backup.features import feature_levels, set_feature_levels
from headrace.backup.folder import Folder, read_batches
from headrace.backup.manifest import Backup, SavedFile, SavedPartition
from headrace.backup.moment import RESTORING
from headrace.backup.plan import (
    ClusterNow,
    Existing,
    RestorePlan,
    TopicPlan,
    settings_to_end_with,
    settings_to_fill_with,
)
from headrace.backup.tally import Tally
from headrace.backup.turns import in_turns
from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.client.connection import Disconnected
from headrace.client.retry import insist
from headrace.client.writer_client import WriterClient
from headrace.wire.batch import BatchHeader, Identity
from headrace.wire.codes import ErrorCode

FILLED_AT_ONCE: Final = 8
CHECKED_AT_ONCE: Final = 2
RESTORE_SECONDS_MAX: Final = 120.0
ALL: Final = -1


async def look_at(admin: Admin, backup: Backup) -> ClusterNow:
    """The cluster as a plan needs it; about users and rules it is asked only for a backup that has some."""
    brokers = [each for each in (await admin.describe_cluster()).brokers if not each.is_fenced]
    seen = {each.name or "": len(each.partitions) for each in (await admin.metadata()).topics}
    settings = await admin.topic_configs(seen, [RESTORING])
    topics = {
        name: Existing(partitions, settings.get(name, {}).get(RESTORING) or "") for name, partitions in seen.items()
    }
    groups = await describe_groups(admin, await list_groups(admin))
    members = {group.group: len(group.members) for group in groups if group.members}
    known = (await feature_levels(admin)).known
    users = await names_of_users(admin) if backup.users else frozenset()
    rules = await rules_of(admin) if backup.acls else []
    acls = None if rules is None else frozenset(each._replace(revision=0) for each in rules)
    return ClusterNow(len(brokers), topics, members, known, users, acls)


async def check_files(folder: Folder, plan: RestorePlan, tally: Tally) -> None:
    """Checks all files before anything is made: a damaged backup changes nothing."""

    async def check(file: SavedFile) -> None:
        await asyncio.to_thread(folder.check, file, whole=True)
        tally.add(bytes=file.bytes)

    await in_turns([check(file) for file in files_of(plan)], CHECKED_AT_ONCE)


def files_of(plan: RestorePlan) -> list[SavedFile]:
    return [file for topic in plan.to_fill for partition in topic.saved.partitions for file in partition.files]


async def restore(admin: Admin, client: WriterClient, folder: Folder, plan: RestorePlan, tally: Tally) -> None:
    await put_rules(admin, plan.acls)
    if plan.settings:
        await admin.alter_configs({Resource(BROKER, ALL_BROKERS): dict(plan.settings)})
    await set_feature_levels(admin, plan.features)
    for topic in plan.to_fill:
        await _make(admin, topic, plan.backup.id)
    producer = await client.producer_id(RESTORE_SECONDS_MAX)
    work = [
        _Filling(client, folder, TopicPartition(topic.name, number), saved, producer, tally).run()
        for topic in plan.to_fill
        for number, saved in enumerate(topic.saved.partitions)
    ]
    await in_turns(work, FILLED_AT_ONCE)
    for topic in plan.to_fill:
        await _finish(admin, client, topic)
    for group in plan.groups:
        offsets = {each.id: NewCommit(each.offset, each.metadata) for each in group.offsets}
        for id, refusal in (await commit(admin, group.name, offsets)).items():
            raise Refused(refusal.code, f"group {group.name} does not take its offset of {id}: {refusal.message}")
    await put_users(admin, plan.users_to_put)


async def _make(admin: Admin, topic: TopicPlan, backup_id: str) -> None:
    if topic.action == "go on":
        return
    if topic.action == "replace":
        await delete_topic(admin, topic.name)
    settings = settings_to_fill_with(topic, backup_id)
    partitions = len(topic.saved.partitions)

    def is_not_gone_yet(error: Refused | Disconnected) -> bool:
        """Whether the refusal comes from a broker that has not heard yet that the topic was deleted."""
        is_there = isinstance(error, Refused) and error.code == ErrorCode.TOPIC_ALREADY_EXISTS
        return is_there and topic.action == "replace"

    async def make() -> None:
        await create_topic(admin, topic.name, partitions, topic.replication_factor, settings)

    await insist(make, RESTORE_SECONDS_MAX, passes=is_not_gone_yet)


async def _finish(admin: Admin, client: WriterClient, topic: TopicPlan) -> None:
    ids = {TopicPartition(topic.name, number): saved for number, saved in enumerate(topic.saved.partitions)}
    await client.delete_records({id: saved.start for id, saved in ids.items() if saved.start}, RESTORE_SECONDS_MAX)
    ends = await client.offsets(dict.fromkeys(ids, LATEST))
    starts = await client.offsets(dict.fromkeys(ids, EARLIEST))
    for id, saved in ids.items():
        if (starts[id].offset, ends[id].offset) != (saved.start, saved.end):
            raise _disturbed(id, f"has {starts[id].offset} to {ends[id].offset}, not {saved.start} to {saved.end}")
    await admin.alter_configs({Resource(TOPIC, topic.name): settings_to_end_with(topic)})


class _Filling:
    """The filling of one partition, one batch at a time: each is sent when the one before is committed."""

    def __init__(
        self,
        client: WriterClient,
        folder: Folder,
        id: TopicPartition,
        saved: SavedPartition,
        producer: Identity,
        tally: Tally,
    ) -> None:
        self._client = client
        self._folder = folder
        self._id = id
        self._saved = saved
        self._producer = producer
        self._tally = tally

    async def run(self) -> None:
        # What an earlier run has brought is there already, and is the same.
        position = (await self._client.offsets({self._id: LATEST}))[self._id].offset
        sequence = 0
        for batch in self._batches():
            if batch.next > position:
                if batch.first != position:
                    raise _disturbed(self._id, f"ends at offset {position}, in the midst of a batch of the backup")
                await self._send(batch, sequence)
                sequence, position = next_sequence(sequence, batch), batch.next
            self._tally.add(offsets=batch.next - batch.first, bytes=len(batch.content))

    def _batches(self) -> Iterator[Restorable]:
        aborted = {each for file in self._saved.files for each in file.aborted}
        return restorable(self._read(), aborted, self._saved.end)

    def _read(self) -> Iterator[tuple[BatchHeader, bytes]]:
        for file in self._saved.files:
            yield from read_batches(self._folder.path_of(file.name))

    async def _send(self, batch: Restorable, sequence: int) -> None:
        content = memoryview(batch.to_bytes(self._producer, sequence))
        offset = await self._client.produce(
            self._id, content, acks=ALL, transactional_id=None, seconds_max=RESTORE_SECONDS_MAX
        )
        if offset != batch.first:
            raise _disturbed(self._id, f"gave offset {offset} to the batch at {batch.first}")


def _disturbed(id: TopicPartition, how: str) -> UserError:
    return UserError(
        f"{id} {how}: something else writes to it, or it was restored by another run",
        "stop what writes to it, and restore again with --replace",
    )
