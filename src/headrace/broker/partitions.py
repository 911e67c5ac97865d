"""All partitions this broker hosts: opened, kept in step with the image, closed; and where their files are.

    DATA/logs/orders-0/       one directory a partition; the file `topic.id` in it says whose it is
    DATA/logs/….stray         a directory of a topic the cluster does not know: kept for a person to look at
    DATA/logs/….deleted       on its way out
    DATA/recovery-points, start-offsets, high-watermarks      one file each for all partitions, by topic id: a topic
                              that was deleted and made again under its old name starts from nothing

A partition that cannot be opened is left over, with its cause: it keeps nobody else from being served, and is tried again
with the next image.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator
from concurrent.futures import Executor
from typing import Any

from headrace.base.clock import Clock
from headrace.base.disk import Disk
from headrace.base.errors import DiskFull, Refused
from headrace.base.ids import TopicPartition, format_id, parse_id
from headrace.base.probe import Probes
from headrace.broker.flusher import Flusher
from headrace.broker.partition import Partition, checkpoint_name
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image, changed_topics
from headrace.cluster.topic_config import TopicConfig, default_topic_config, topic_config
from headrace.log import checkpoint
from headrace.log.config import LogConfig
from headrace.log.log import Log
from headrace.log.pool import FilePool
from headrace.log.recovery import RecoveryReport
from headrace.log.segment import log_path
from headrace.replica.leader import Proposal
from headrace.wire.batch import CorruptBatch
from headrace.wire.codes import ErrorCode

log = logging.getLogger("headrace.partitions")

# Opening a partition is a few file operations, each of which may have to wait for the disk; after this many the loop
# gets a turn.
OPEN_PER_TURN = 10
# While nobody is served: at the start.
OPEN_PER_TURN_UNSEEN = 200
UPDATE_PER_TURN = 1000
_NAME_BYTES_MAX = 240


class Unclaimed(Exception):
    """A directory with records in it that does not say whose they are."""


class Partitions:
    def __init__(
        self,
        *,
        broker_id: int,
        path: str,
        disk: Disk,
        clock: Clock,
        flusher: Flusher,
        threads: Executor,
        probes: Probes,
        propose: Callable[[Partition, Proposal], None],
        clean_start: bool,
        sync_failed: bool,
        kept_page_cache: bool,
        files_max: int,
    ) -> None:
        self.pool = FilePool(disk, files_max)
        self._broker_id = broker_id
        self.path = f"{path}/logs"
        self._disk = disk
        self._clock = clock
        self._flusher = flusher
        self._threads = threads
        self._probes = probes
        self._propose = propose
        self._clean_start = clean_start
        self._sync_failed = sync_failed
        self._kept_page_cache = kept_page_cache
        self._hosted: dict[tuple[str, int], Partition] = {}
        # Partitions enter themselves here when they change; from here they go to who looks after them, and is done
        # with each when it is settled. Of a hundred thousand most are quiet, and cost nothing.
        self._moved: dict[Partition, None] = {}
        self._restless: dict[Partition, None] = {}
        self._unsaved: dict[Partition, None] = {}
        self._retiring: dict[Partition, None] = {}
        self._is_saved = False
        # Until we are registered: what the image says of us is about an earlier life.
        self.is_fenced = True
        # What recovery found wanting: named at registration, so that none of it leads before it has caught up.
        self.damaged: dict[tuple[bytes, int], TopicPartition] = {}
        self._left_over: dict[tuple[str, int], Exception] = {}
        self._configs: dict[str, TopicConfig] = {}
        self._defaults: TopicConfig | None = None
        self._image = Image()
        self._writing = asyncio.Lock()
        self._recovery_points_path = f"{path}/recovery-points"
        self._start_offsets_path = f"{path}/start-offsets"
        self._high_watermarks_path = f"{path}/high-watermarks"
        # A damaged file says nothing: logs are then scanned whole, and start at their first segment.
        self._recovery_points = checkpoint.load(disk, self._recovery_points_path).offsets
        self._start_offsets = checkpoint.load(disk, self._start_offsets_path).offsets
        self._high_watermarks = checkpoint.load(disk, self._high_watermarks_path).offsets
        self._saved: dict[str, dict[TopicPartition, int]] = {}
        """By path, what this process has written there."""
        self._written = (self._recovery_points, self._start_offsets, self._high_watermarks)
        disk.mkdir(self.path)
        disk.sync_dir_job(path)()

    # -- looking up ------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._hosted.values())

    def __len__(self) -> int:
        return len(self._hosted)

    def find(self, topic: str | None, index: int) -> Partition | None:
        return None if topic is None else self._hosted.get((topic, index))

    def hosted(self, topic: str | None, index: int, by_id: bool = False) -> Partition:
        """The partition, or the refusal that makes a client ask the right broker, or ask again."""
        if topic is not None:
            found = self._hosted.get((topic, index))
            if found is not None and not self.is_fenced:
                return found
            cause = self._left_over.get((topic, index))
            if cause is not None:
                raise Refused(ErrorCode.KAFKA_STORAGE_ERROR, f"{topic}-{index} cannot be opened: {cause}")
            if self._image.partition(topic, index) is not None:
                raise Refused(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{topic}-{index} is not on broker {self._broker_id}")
            if topic in self._image.topics or not by_id:
                raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {index} of topic {topic!r}")
        if by_id:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "no topic is named")

    def fence(self) -> None:
        """Until we are registered again nothing is served, and nobody is left waiting for an ack of ours."""
        self.is_fenced = True
        for partition in self:
            partition.close()

    # -- following the image ---------------------------------------------------------------------------------------

    async def reconcile(self, image: Image, config: BrokerConfig) -> list[Partition]:
        """Looks only at topics that are not what they were, and at those it could not open; at all when defaults change.

        The partitions that are new, gone or in another state.
        """
        before, self._image = self._image, image
        defaults = default_topic_config(config)
        names = dict.fromkeys(self._changed_names(before, image))
        if defaults != self._defaults:
            self._defaults = defaults
            names |= dict.fromkeys(image.topics)
        changed = self._close_gone(before, image, names)
        missing: list[tuple[Topic, int, TopicConfig]] = []
        looked_at = 0
        for topic in filter(None, map(image.topics.get, names)):
            missing += self._update_all(topic, self._settings(topic, defaults), changed)
            looked_at += len(topic.partitions)
            if looked_at >= UPDATE_PER_TURN:
                looked_at = 0
                await asyncio.sleep(0)
        changed += await self._open_all(missing, config.number("producer.id.expiration.ms"))
        return changed

    def _changed_names(self, before: Image, image: Image) -> Iterator[str]:
        for old, new in changed_topics(before, image):
            topic = new if new is not None else old
            assert topic is not None
            yield topic.name
        for name, _ in self._left_over:
            yield name

    def _update_all(
        self, topic: Topic, settings: TopicConfig, changed: list[Partition]
    ) -> list[tuple[Topic, int, TopicConfig]]:
        """Tells the partitions of one topic what is new; those that are still to be opened come back."""
        missing = []
        for index, state in enumerate(topic.partitions):
            if self._broker_id in state.replicas:
                partition = self._hosted.get((topic.name, index))
                if partition is None:
                    missing.append((topic, index, settings))
                elif self._update(partition, state, settings):
                    changed.append(partition)
        return missing

    def _settings(self, topic: Topic, defaults: TopicConfig) -> TopicConfig:
        """The same object as long as nothing changed, so that an unchanged partition is told nothing."""
        settings = topic_config(topic.config, defaults)
        known = self._configs.get(topic.name)
        if known == settings:
            return known
        self._configs[topic.name] = settings
        return settings

    def _update(self, partition: Partition, state: PartitionState, settings: TopicConfig) -> bool:
        """Whether it is in another state."""
        now = self._clock.now()
        if partition.config is not settings:
            partition.on_config(settings, log_config(settings, partition.log.config.producer_expiration_ms), now)
        if partition.state is state:
            return False
        partition.on_state(state, now)
        return True

    def _close_gone(self, before: Image, image: Image, names: Iterable[str]) -> list[Partition]:
        gone = []
        for name in names:
            topic = image.topics.get(name)
            if topic is None:
                self._configs.pop(name, None)
            for partition in self._hosted_of(name, before, image):
                if topic is None or topic.id != partition.topic_id or self._is_moved_away(topic, partition):
                    del self._hosted[partition.id]
                    partition.end()
                    self._delete(partition)
                    gone.append(partition)
        for key in [key for key in self._left_over if image.partition(*key) is None]:
            del self._left_over[key]
        return gone

    def _hosted_of(self, name: str, *images: Image) -> list[Partition]:
        count = max(len(image.topics[name].partitions) if name in image.topics else 0 for image in images)
        found = (self._hosted.get((name, index)) for index in range(count))
        return [partition for partition in found if partition is not None]

    def _is_moved_away(self, topic: Topic, partition: Partition) -> bool:
        """Its replicas are others now. A state without any replica is not that, but a store that lost a key."""
        replicas = topic.partitions[partition.id.partition].replicas
        return bool(replicas) and self._broker_id not in replicas

    def _delete(self, partition: Partition) -> None:
        """Out of the way at once, gone from the disk when a thread has found the time."""
        self._forget(partition.written_as)
        doomed = partition.log.drop()
        asyncio.get_running_loop().run_in_executor(self._threads, self._disk.remove_tree, doomed)

    def _forget(self, written_as: TopicPartition) -> None:
        """If it ever comes back, it begins anew: what was written of this log would make that one look damaged."""
        for written in self._written:
            written.pop(written_as, None)
        self._is_saved = False

    # -- opening ---------------------------------------------------------------------------------------------------

    async def _open_all(self, missing: list[tuple[Topic, int, TopicConfig]], expiration_ms: int) -> list[Partition]:
        opened: list[Partition] = []
        if not missing:
            return opened
        per_turn = OPEN_PER_TURN_UNSEEN if self.is_fenced else OPEN_PER_TURN
        for start in range(0, len(missing), per_turn):
            turn = missing[start : start + per_turn]
            # Each claim syncs a file and a directory: not for the loop.
            claims = await asyncio.get_running_loop().run_in_executor(self._threads, self._claim_all, turn)
            for (topic, index, settings), claim in zip(turn, claims, strict=True):
                partition = self._try_to_open(topic, index, settings, expiration_ms, claim)
                if partition is not None:
                    opened.append(partition)
        # The directory that names them must be on disk before any of them may acknowledge a write.
        await self._in_thread(self._disk.sync_dir_job(self.path))
        for partition in opened:
            self._hosted[partition.id] = partition
        return opened

    def _try_to_open(
        self, topic: Topic, index: int, settings: TopicConfig, expiration_ms: int, claim: "bool | Exception"
    ) -> Partition | None:
        id = TopicPartition(topic.name, index)
        try:
            if isinstance(claim, Exception):
                raise claim
            partition = self._open(id, topic, settings, expiration_ms, is_new=claim)
        except (DiskFull, CorruptBatch, Unclaimed, OSError) as cause:
            if str(self._left_over.get(id)) != str(cause):
                log.error("%s cannot be opened: %s", id, cause)
            self._left_over[id] = cause
            if topic.partitions[index].isr != (self._broker_id,):
                self.damaged[topic.id, index] = id
            return None
        self._left_over.pop(id, None)
        return partition

    @property
    def needs_room(self) -> bool:
        """Some could not be opened on a full disk: worth another try when it no longer is."""
        return any(isinstance(cause, DiskFull) for cause in self._left_over.values())

    def _open(
        self, id: TopicPartition, topic: Topic, settings: TopicConfig, expiration_ms: int, is_new: bool
    ) -> Partition:
        directory = self._directory(id)
        written_as = checkpoint_name(topic.id, id.partition)
        store, report = Log.open(
            self._disk,
            self.pool,
            directory,
            log_config(settings, expiration_ms),
            self._clock.now(),
            recovery_point=self._recovery_points.get(written_as, 0),
            clean=self._clean_start and not is_new,
            start_offset=self._start_offsets.get(written_as),
            sync_failed=self._sync_failed,
        )
        state = topic.partitions[id.partition]
        high_watermark = self._high_watermarks.get(written_as, 0)
        # A relaxed log has no recovery point to speak of, but what was committed was in the page cache, and that lived.
        lacks_committed = self._kept_page_cache and store.end_offset < high_watermark
        self._note_damage(id, topic.id, report, state, lacks_committed)
        return Partition(
            id,
            topic.id,
            self._broker_id,
            store,
            settings,
            state,
            self._flusher,
            high_watermark,
            self._propose,
            self._clock.now(),
            self._moved,
        )

    def _note_damage(
        self, id: TopicPartition, topic_id: bytes, report: RecoveryReport, state: PartitionState, lacks_committed: bool
    ) -> None:
        """A torn end is what a crash leaves. A hole in what was known to be on disk is damage, and is not led from.

        A sound batch behind the cut is rot if the page cache lived. If it did not, it may also be writes that a power
        cut reordered before their sync: then we step back if others have what we acknowledged, but the last in-sync
        replica would only take the partition offline.
        """
        if report.cut_bytes:
            log.warning("%s: cut %d bytes that are not sound, at offset %s", id, report.cut_bytes, report.cut_offset)
        is_last = state.isr == (self._broker_id,)
        is_rot = report.valid_batch_after_cut and (self._kept_page_cache or not is_last)
        if report.below_recovery_point or lacks_committed or is_rot:
            log.error("%s is damaged at offset %s: it must catch up before it may lead", id, report.cut_offset)
            self.damaged[topic_id, id.partition] = id

    def _directory(self, id: TopicPartition) -> str:
        return f"{self.path}/{_short(str(id))}"

    def _claim_all(self, turn: list[tuple[Topic, int, TopicConfig]]) -> "list[bool | Exception]":
        """Runs in a thread. For each, whether its directory is new, or why it cannot be had."""
        claims: list[bool | Exception] = []
        for topic, index, _ in turn:
            id = TopicPartition(topic.name, index)
            try:
                claims.append(self._claim(self._directory(id), id, topic.id))
            except (DiskFull, Unclaimed, OSError) as cause:
                claims.append(cause)
        return claims

    def _claim(self, directory: str, id: TopicPartition, topic_id: bytes) -> bool:
        """Make the directory this topic's; True when it is new. One of an older topic is set aside, not reused."""
        marker = f"{directory}/topic.id"
        wanted = format_id(topic_id)
        owner = self._owner(marker)
        if owner == wanted:
            return False
        if owner:
            self._set_aside(directory)
        elif self._disk.exists(directory) and any(name.endswith(".log") for name in self._disk.listdir(directory)):
            # It is written before the first record, and synced: somebody else took it away.
            raise Unclaimed(
                f"{marker} is missing or damaged. If these are the records of {id}, write {wanted} into it and start again"
            )
        self._disk.mkdir(directory)
        self._disk.write_atomic(marker, wanted.encode())
        # Here and not by the log: making a file waits for whatever the disk is busy with, and that is not for the loop.
        self._disk.open(log_path(directory, 0), create=True).close()
        return True

    def _owner(self, marker: str) -> str:
        """The topic id in the file; empty when there is none in it."""
        if not self._disk.exists(marker):
            return ""
        try:
            return format_id(parse_id(self._disk.read(marker).decode().strip()))
        except ValueError:
            return ""

    def _set_aside(self, directory: str) -> None:
        target = f"{directory}.stray"
        number = 1
        while self._disk.exists(target):
            number += 1
            target = f"{directory}.{number}.stray"
        log.warning("%s belongs to no replica of this broker; kept as %s", directory, target)
        self._disk.rename(directory, target)

    def set_strays_aside(self, image: Image) -> None:
        """Once, at start: what lies there and is not ours, or not any more. What was being deleted is deleted."""
        known, written_as = set(), set()
        for topic in image.topics.values():
            for index, state in enumerate(topic.partitions):
                if not state.replicas or self._broker_id in state.replicas:
                    known.add(_short(f"{topic.name}-{index}"))
                    written_as.add(checkpoint_name(topic.id, index))
        for forgotten in {name for written in self._written for name in written} - written_as:
            self._forget(forgotten)
        for name in self._disk.listdir(self.path):
            if name.endswith(".deleted"):
                self._disk.remove_tree(f"{self.path}/{name}")
            elif name not in known and not name.endswith(".stray"):
                self._set_aside(f"{self.path}/{name}")

    # -- looking after them ------------------------------------------------------------------------------------------

    def restless(self) -> list[Partition]:
        """Those for which the passing of time matters: something about them is not settled."""
        self._take_moved()
        for partition in [each for each in self._restless if each.is_gone or each.is_at_rest]:
            del self._restless[partition]
        return list(self._restless)

    def _take_moved(self) -> None:
        self._restless.update(self._moved)
        self._unsaved.update(self._moved)
        self._moved.clear()

    # -- written down ----------------------------------------------------------------------------------------------

    async def save_checkpoints(self) -> None:
        await self._in_turn(self._save_checkpoints())

    async def _save_checkpoints(self) -> None:
        """How far each log is known to be on disk, where it starts, and what was committed. The values are of now."""
        self._take_moved()
        unsaved, self._unsaved = self._unsaved, {}
        if self._is_saved and not unsaved:
            return
        self._is_saved = True
        try:
            await self._write_down(unsaved)
        except BaseException:
            self._unsaved = {**unsaved, **self._unsaved}
            self._is_saved = False
            raise
        for partition in unsaved:
            if not partition.is_gone:
                partition.log.on_checkpointed(self._recovery_points[partition.written_as])
                self._retiring[partition] = None

    async def _write_down(self, partitions: Iterable[Partition]) -> None:
        for count, partition in enumerate(partitions, 1):
            if not partition.is_gone:
                self._note(partition)
            if count % UPDATE_PER_TURN == 0:
                await asyncio.sleep(0)
        starts, points, watermarks = map(dict, (self._start_offsets, self._recovery_points, self._high_watermarks))
        # Starts first: a log that was cut above its recovery point must not look damaged.
        await self._save(self._start_offsets_path, starts)
        await self._save(self._recovery_points_path, points)
        await self._save(self._high_watermarks_path, watermarks)

    async def _save(self, path: str, offsets: dict[TopicPartition, int]) -> None:
        """Nothing, where the file has them already: it would take two syncs, and appends to the same disk wait for these."""
        if self._saved.pop(path, None) != offsets:
            await self._in_thread(checkpoint.save, self._disk, path, offsets)
        self._saved[path] = offsets

    def _note(self, partition: Partition) -> None:
        name = partition.written_as
        self._recovery_points[name] = partition.log.synced_end
        self._high_watermarks[name] = partition.high_watermark
        if partition.start_offset:
            self._start_offsets[name] = partition.start_offset
        else:
            self._start_offsets.pop(name, None)

    async def cut(self, partition: Partition, offset: int, cut: Callable[[], None]) -> None:
        """Cut what is at `offset` and above. After a crash in the midst of it recovery must scan from there, so the lower
        recovery point is on disk first; and no other checkpoint may come between the two, with a point of before."""
        await self._in_turn(self._cut(partition, offset, cut))

    async def _cut(self, partition: Partition, offset: int, cut: Callable[[], None]) -> None:
        if self._hosted.get(partition.id) is not partition:
            return
        name = partition.written_as
        self._unsaved[partition] = None
        if offset < partition.high_watermark:
            # Only after an unclean election. What it takes away must not look like a loss to the next start.
            self._high_watermarks[name] = offset
            await self._save(self._high_watermarks_path, dict(self._high_watermarks))
        self._recovery_points[name] = min(partition.log.synced_end, offset)
        await self._save(self._recovery_points_path, dict(self._recovery_points))
        if self._hosted.get(partition.id) is partition:
            cut()

    async def _in_turn(self, write: Coroutine[Any, Any, None]) -> None:
        """One writer of these files at a time, and each to its end: one that is cancelled with the request it served
        would go on in its thread, beside the next."""

        async def locked() -> None:
            async with self._writing:
                await write

        await asyncio.shield(asyncio.get_running_loop().create_task(locked()))

    async def remove_retired(self) -> None:
        """Files of segments that left their log, if there are any. Only after a checkpoint: see `retire_segments`."""
        retiring, self._retiring = self._retiring, {}
        paths = [path for each in retiring if not each.is_gone for path in each.log.retire_segments()]
        if paths:
            await self._in_thread(_unlink_all, self._disk, paths)

    async def _in_thread(self, work: Callable[..., None], *arguments: object) -> None:
        await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    async def close_all(self) -> None:
        """Blocks for nobody's disk: all logs share the rounds of the flusher."""
        for partition in self:
            partition.close()
            partition.log.prepare_close()
            self._flusher.mark(partition)
        await self._flusher.until_idle()
        for partition in self:
            partition.log.close()


def _unlink_all(disk: Disk, paths: list[str]) -> None:
    for path in paths:
        disk.unlink(path)


def log_config(settings: TopicConfig, producer_expiration_ms: int) -> LogConfig:
    return LogConfig(
        segment_bytes=settings.segment_bytes,
        segment_ms=settings.segment_ms,
        index_interval_bytes=settings.index_interval_bytes,
        segment_index_bytes=settings.segment_index_bytes,
        producer_expiration_ms=producer_expiration_ms,
    )


def _short(name: str) -> str:
    """A file name may have 255 bytes, a topic name takes 249 of them: long ones end in a digest instead."""
    if len(name) <= _NAME_BYTES_MAX:
        return name
    return f"{name[:200]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
