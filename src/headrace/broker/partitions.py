"""All partitions this broker hosts: opened, kept in step with the image, closed.

    image ─▶ reconcile: states and closings, at once; what is to be opened is noted ─▶ run_openings, beside it ─▶ on_opened

To open waits for the disk, and what the image says of leaders may not: a disk that hangs, or a topic of a thousand
partitions, would hold up every fail-over. Until it is open a partition is refused as if it were elsewhere.

A partition that cannot be opened is left over, with its cause: it keeps nobody else from being served, and is tried again
with the next image. So is one that is opened late with a hole in it, as long as the cluster counts on this copy: see
`replication.doubtful_copies`.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator
from concurrent.futures import Executor
from itertools import islice
from typing import NamedTuple

from headrace.base.clock import Clock
from headrace.base.disk import Disk
from headrace.base.errors import DiskFull, Refused
from headrace.base.ids import TopicPartition
from headrace.base.probe import Probes
from headrace.broker.checkpoints import Checkpoints
from headrace.broker.disk.partition_directories import PartitionDirectories, Unclaimed, Vanished
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.upkeep.removals import Removals
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.damage import must_stand_down
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.image import Image, changed_topics
from headrace.cluster.rejoin import Doubt, Doubts
from headrace.cluster.topic_config import TopicConfig, default_topic_config, topic_config
from headrace.log.config import LogConfig
from headrace.log.opening import open_log
from headrace.log.pool import FilePool
from headrace.log.recovery import RecoveryReport
from headrace.partition.partition import Partition
from headrace.partition.ready import Ready
from headrace.partition.role import checkpoint_name
from headrace.wire.batch import CorruptBatch
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.partitions")

# Opening a partition is a few file operations, each of which may have to wait for the disk; after this many the loop
# gets a turn.
OPEN_PER_TURN = 10
# While nobody is served: at the start.
OPEN_PER_TURN_UNSEEN = 200
UPDATE_PER_TURN = 1000


class Doubtful(Exception):
    """Recovery found a hole in a log that the cluster still counts on."""


class WantedPartition(NamedTuple):
    """A partition that is to be opened."""

    topic: Topic
    number: int
    settings: TopicConfig


class Partitions:
    def __init__(
        self,
        *,
        broker_id: int,
        path: str,
        disk: Disk,
        clock: Clock,
        ready: Ready[Partition],
        threads: Executor,
        watch: DiskWatch,
        probes: Probes,
        on_opened: Callable[[list[Partition]], None],
        clean_start: bool,
        kept_page_cache: bool,
        files_max: int,
    ) -> None:
        self.pool = FilePool(disk, files_max)
        self._broker_id = broker_id
        self._directories = PartitionDirectories(disk, path)
        self.path = self._directories.path
        self._disk = disk
        self._clock = clock
        self._ready = ready
        self._removals = Removals(disk, threads)
        self._watch = watch
        self._probes = probes
        self._on_opened = on_opened
        self._clean_start = clean_start
        self._kept_page_cache = kept_page_cache
        self._hosted: dict[tuple[str, int], Partition] = {}
        # Partitions that changed come here from `Ready.moved`, and leave when they are at rest: a quiet one costs
        # nothing.
        self._restless: dict[Partition, None] = {}
        # Partitions that the image gives us and that are not open yet, and those being opened now.
        self._wanted: dict[TopicPartition, None] = {}
        self._opening: dict[TopicPartition, None] = {}
        self._has_wanted = asyncio.Event()
        self._has_opened = asyncio.Event()
        # Until we are registered: what the image says of us is about an earlier life.
        self.is_fenced = True
        # Copies in which recovery found a hole, and of which the cluster was not told yet.
        self._doubts: dict[tuple[bytes, int], Doubt] = {}
        # From the start on others may count on a copy before it is opened.
        self._is_started = False
        self._left_over: dict[tuple[str, int], Exception] = {}
        self._configs: dict[str, TopicConfig] = {}
        self._defaults: TopicConfig | None = None
        self._image = Image()
        self._limits = LogConfig()
        self._checkpoints = Checkpoints(disk, path, watch)

    # -- looking up ------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._hosted.values())

    def __len__(self) -> int:
        return len(self._hosted)

    @property
    def unopened(self) -> int:
        """How many the image gives us and are not open: they wait for their turn, or could not be opened."""
        return len(self._wanted) + len(self._opening) + len(self._left_over)

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
        """Serves nothing until we are registered again; nobody is left waiting for an ack of ours."""
        self.is_fenced = True
        for partition in self:
            partition.close()

    # -- following the image ---------------------------------------------------------------------------------------

    async def reconcile(self, image: Image, config: BrokerConfig) -> list[Partition]:
        """Takes in a new image, and returns the partitions that are gone or in another state. Waits for no disk.

        Only topics that changed are looked at, and those that could not be opened; all of them when defaults change.
        """
        self._limits = log_limits(config)
        before, self._image = self._image, image
        defaults = default_topic_config(config)
        names = dict.fromkeys(self._changed_names(before, image))
        if defaults != self._defaults:
            self._defaults = defaults
            names |= dict.fromkeys(image.topics)
        changed = self._close_gone(before, image, names)
        looked_at = 0
        for topic in filter(None, map(image.topics.get, names)):
            self._update_all(topic, self._settings(topic, defaults), changed)
            looked_at += len(topic.partitions)
            if looked_at >= UPDATE_PER_TURN:
                looked_at = 0
                await asyncio.sleep(0)
        return changed

    def _changed_names(self, before: Image, image: Image) -> Iterator[str]:
        for old, new in changed_topics(before, image):
            topic = new if new is not None else old
            assert topic is not None
            yield topic.name
        for name, _ in self._left_over:
            yield name

    def _update_all(self, topic: Topic, settings: TopicConfig, changed: list[Partition]) -> None:
        """Tells the partitions of one topic what is new, and notes those that are still to be opened."""
        for index, state in enumerate(topic.partitions):
            if self._broker_id in state.replicas:
                partition = self._hosted.get((topic.name, index))
                if partition is None:
                    self._wanted[TopicPartition(topic.name, index)] = None
                    self._has_wanted.set()
                elif self._update(partition, state, settings):
                    changed.append(partition)

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
            partition.on_config(settings, log_config(settings, partition.log.config))
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
        for key in [key for key in self._left_over if not self._is_ours(image.partition(*key))]:
            del self._left_over[key]
        return gone

    def _is_ours(self, state: PartitionState | None) -> bool:
        return state is not None and self._broker_id in state.replicas

    def _hosted_of(self, name: str, *images: Image) -> list[Partition]:
        count = max(len(image.topics[name].partitions) if name in image.topics else 0 for image in images)
        found = (self._hosted.get((name, index)) for index in range(count))
        return [partition for partition in found if partition is not None]

    def _is_moved_away(self, topic: Topic, partition: Partition) -> bool:
        """Whether its replicas are on other brokers now. A state without any replica is a store that lost a key, not a
        move.
        """
        replicas = topic.partitions[partition.id.partition].replicas
        return bool(replicas) and self._broker_id not in replicas

    def _delete(self, partition: Partition) -> None:
        """Out of the way at once, gone from the disk when a thread has found the time."""
        self._checkpoints.forget(partition.written_as)
        doomed = partition.log.drop()
        self._removals.add(doomed)

    # -- opening ---------------------------------------------------------------------------------------------------

    async def run_openings(self) -> None:
        """Opens partitions that the metadata bring after the start."""
        self._is_started = True
        while True:
            await self._has_wanted.wait()
            await self.open_wanted()

    async def open_wanted(self) -> None:
        """Returns when all that the image gives us is open, or left over."""
        while self._wanted:
            per_turn = OPEN_PER_TURN_UNSEEN if self.is_fenced else OPEN_PER_TURN
            self._opening = dict.fromkeys(islice(self._wanted, per_turn))
            for id in self._opening:
                del self._wanted[id]
            await self._open_turn([found for found in map(self._find_wanted, self._opening) if found is not None])
            self._opening = {}
            self._has_opened.set()
        self._has_wanted.clear()

    def is_opening(self, topic: str, index: int) -> bool:
        """Whether the image gives us this partition, and it is neither open yet nor left over."""
        id = TopicPartition(topic, index)
        return id in self._wanted or id in self._opening

    async def until_opened(self, topic: str, seconds: float) -> None:
        """Returns when no partition of this topic is still to be opened here, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(id.topic == topic for ids in (self._wanted, self._opening) for id in ids):
                    self._has_opened.clear()
                    await self._has_opened.wait()

    def _find_wanted(self, id: TopicPartition) -> WantedPartition | None:
        """The partition as the newest image has it; None when it is not ours any more, or open."""
        topic, state = self._image.topics.get(id.topic), self._image.partition(*id)
        if topic is None or not self._is_ours(state) or id in self._hosted:
            return None
        assert self._defaults is not None
        # Worked out by `reconcile`, once for all partitions of the topic.
        settings = self._configs.get(topic.name) or self._settings(topic, self._defaults)
        return WantedPartition(topic, id.partition, settings)

    async def _open_turn(self, turn: list[WantedPartition]) -> None:
        if not turn:
            return
        # Each claim syncs a file and a directory: not for the loop.
        claims = await self._watch.in_thread(self._claim_all, turn, self._checkpoints.known_replicas)
        if any(isinstance(claim, Vanished) for claim in claims):
            claims = await self._made_anew(turn, claims)
        if any(self._checkpoints.may_name(checkpoint_name(topic.id, number)) for topic, number, _ in turn):
            claims = await self._forgotten_first(claims)
        opened = [self._try_to_open(*wanted, claim) for wanted, claim in zip(turn, claims, strict=True)]
        # The directory that names them must be on disk before any of them may acknowledge a write.
        await self._watch.in_thread(self._directories.sync)
        partitions = [partition for partition in opened if partition is not None]
        await self._checkpoints.note_opened(partitions)
        self._opening = {}
        self._on_opened([partition for partition in partitions if self._host(partition)])

    async def _forgotten_first(self, claims: "list[bool | Exception]") -> "list[bool | Exception]":
        """One that was here, was moved away and is back: what the files say of it would make its new log look damaged."""
        try:
            await self.save_checkpoints()
        except DiskFull as full:
            return [full] * len(claims)
        return claims

    async def _made_anew(
        self, turn: list[WantedPartition], claims: "list[bool | Exception]"
    ) -> "list[bool | Exception]":
        """Directories that vanished are made again, after it was written down that their logs lack something."""
        vanished = [each for each, claim in zip(turn, claims, strict=True) if isinstance(claim, Vanished)]
        for topic, number, _ in vanished:
            id = TopicPartition(topic.name, number)
            logger.error(
                "%(topic)s-%(partition)d was on this disk and is gone: its directory is made anew, and copied from others",
                {**id._asdict(), "epoch": topic.partitions[number].leader_epoch},
            )
        try:
            await self._checkpoints.note_vanished(checkpoint_name(topic.id, number) for topic, number, _ in vanished)
        except DiskFull as full:
            return [full if isinstance(claim, Vanished) else claim for claim in claims]
        again = iter(await self._watch.in_thread(self._claim_all, vanished, ()))
        return [next(again) if isinstance(claim, Vanished) else claim for claim in claims]

    def _host(self, partition: Partition) -> bool:
        """Whether it is still ours; if so it is told what the image says by now."""
        wanted = self._find_wanted(partition.id)
        if wanted is None or wanted.topic.id != partition.topic_id:
            partition.end()
            self._delete(partition)
            return False
        state = wanted.topic.partitions[wanted.number]
        doubt = self._doubts.get((partition.topic_id, wanted.number))
        if self._is_started and doubt is not None:
            if must_stand_down(state, self._broker_id, doubt):
                self._withhold(partition)
                return False
            del self._doubts[partition.topic_id, wanted.number]
            partition.log.damage.forget()
        self._hosted[partition.id] = partition
        self._update(partition, state, wanted.settings)
        return True

    def _withhold(self, partition: Partition) -> None:
        """Opened again when the cluster does not count on it any more: until then it might lead."""
        partition.end()
        partition.log.close()
        self._left_over[partition.id] = Doubtful(f"records are gone from the disk of broker {self._broker_id}")

    def _try_to_open(
        self, topic: Topic, index: int, settings: TopicConfig, claim: "bool | Exception"
    ) -> Partition | None:
        id = TopicPartition(topic.name, index)
        try:
            if isinstance(claim, Exception):
                raise claim
            partition = self._open(id, topic, settings, is_new=claim)
        except (DiskFull, CorruptBatch, Unclaimed, OSError) as cause:
            if str(self._left_over.get(id)) != str(cause):
                epoch = topic.partitions[index].leader_epoch
                logger.error(
                    "%(topic)s-%(partition)d cannot be opened: %(cause)s",
                    {**id._asdict(), "epoch": epoch, "cause": cause},
                )
            self._left_over[id] = cause
            return None
        self._left_over.pop(id, None)
        return partition

    @property
    def needs_room(self) -> bool:
        """Whether some could not be opened on a full disk: worth another try when it no longer is full."""
        return any(isinstance(cause, DiskFull) for cause in self._left_over.values())

    def _open(self, id: TopicPartition, topic: Topic, settings: TopicConfig, is_new: bool) -> Partition:
        directory = self._directories.of(id)
        written_as = checkpoint_name(topic.id, id.partition)
        recovery_point = self._checkpoints.recovery_points.get(written_as, 0)
        store, report = open_log(
            self.pool,
            directory,
            log_config(settings, self._limits),
            self._clock.now(),
            recovery_point=recovery_point,
            clean=self._clean_start and not is_new,
            start_offset=self._checkpoints.start_offsets.get(written_as),
        )
        # What was written down as synced is there, or known to be lost.
        assert recovery_point <= store.end_offset or report.below_recovery_point, (id, recovery_point, store.end_offset)
        state = topic.partitions[id.partition]
        high_watermark = self._checkpoints.high_watermarks.get(written_as, 0)
        # A relaxed log has no recovery point to speak of, but what was committed was in the page cache, and that lived.
        lacks_committed = self._kept_page_cache and store.end_offset < high_watermark
        lost_page_cache = not (self._kept_page_cache or self._clean_start)
        lost_memory = lost_page_cache and written_as in self._checkpoints.relaxed
        self._note_damage(id, topic, report, lacks_committed, lost_memory)
        return Partition(
            id,
            topic.id,
            self._broker_id,
            store,
            settings,
            state,
            high_watermark,
            self._ready,
            self._clock.now(),
        )

    def _note_damage(
        self, id: TopicPartition, topic: Topic, report: RecoveryReport, lacks_committed: bool, lost_memory: bool
    ) -> None:
        """A torn end is what a crash leaves. A hole in what was known to be on disk is damage, and is not led from.

        A sound batch behind the cut is rot if the page cache lived. If it did not, it may also be writes that a power
        cut reordered before their sync: then others are to lead, if there are any. `lost_memory`: acks rested on memory,
        and that is gone, though the topic may be durable by now.
        """
        about = {**id._asdict(), "epoch": topic.partitions[id.partition].leader_epoch, "offset": report.cut_offset}
        if report.cut_bytes:
            logger.warning(
                "%(topic)s-%(partition)d: cut %(cut_bytes)d bytes that are not sound, at offset %(offset)s",
                {**about, "cut_bytes": report.cut_bytes},
            )
        has_hole = report.valid_batch_after_cut or report.was_damaged or report.lacks_head
        is_rot = has_hole and self._kept_page_cache
        if report.below_recovery_point or lacks_committed or is_rot:
            logger.error(
                "%(topic)s-%(partition)d is damaged at offset %(offset)s: it must catch up before it may lead",
                about,
            )
            self._doubts[topic.id, id.partition] = Doubt.DAMAGED
        elif lost_memory:
            self._doubts[topic.id, id.partition] = Doubt.UNSYNCED
        elif has_hole:
            self._doubts[topic.id, id.partition] = Doubt.UNSURE

    @property
    def doubts(self) -> Doubts:
        """Why the cluster must not count on some of our copies: they have a hole, or may have one, or are not open."""
        image = self._image
        unopened = {
            (image.topics[topic].id, index): Doubt.UNSURE
            for topic, index in self._left_over
            if image.partition(topic, index) is not None
        }
        return {**unopened, **self._doubts}

    def on_doubts_told(self, told: Doubts) -> None:
        """The cluster does not count on these any more, or has nothing better."""
        self._checkpoints.are_doubts_told = True
        for key in told:
            self._doubts.pop(key, None)
        for partition in self._hosted.values():
            if (partition.topic_id, partition.id.partition) in told:
                partition.log.damage.forget()

    def _claim_all(self, turn: list[WantedPartition], known: Container[TopicPartition]) -> "list[bool | Exception]":
        """Runs in a thread. For each, whether its directory is new, or why it cannot be had."""
        claims: list[bool | Exception] = []
        for topic, index, _ in turn:
            id = TopicPartition(topic.name, index)
            try:
                claims.append(self._directories.claim(id, topic.id, checkpoint_name(topic.id, index) in known))
            except (DiskFull, Unclaimed, Vanished, OSError) as cause:
                claims.append(cause)
        return claims

    def set_strays_aside(self, image: Image) -> None:
        """Renames unknown directories to `.stray`, once, at start, and forgets what was written down of them."""
        ours = {
            TopicPartition(topic.name, index): checkpoint_name(topic.id, index)
            for topic in image.topics.values()
            for index, state in enumerate(topic.partitions)
            if not state.replicas or self._broker_id in state.replicas
        }
        for forgotten in self._checkpoints.names - set(ours.values()):
            self._checkpoints.forget(forgotten)
        self._directories.set_strays_aside(ours)

    # -- looking after them ------------------------------------------------------------------------------------------

    def restless(self) -> list[Partition]:
        """Partitions that are not at rest: the passing of time changes something about them."""
        self._take_moved()
        for partition in [each for each in self._restless if each.is_gone or each.upkeep.is_at_rest]:
            del self._restless[partition]
        return list(self._restless)

    def _take_moved(self) -> None:
        moved = self._ready.moved
        self._restless.update(moved)
        self._checkpoints.add(moved)
        moved.clear()

    # -- written down ----------------------------------------------------------------------------------------------

    async def save_checkpoints(self) -> None:
        await self._checkpoints.save(self._take_moved)

    async def cut(self, partition: Partition, offset: int, cut: Callable[[], None], start: int | None = None) -> None:
        """Cut what is at `offset` and above, after that was written down, and the new start of a log that begins anew."""
        if self._hosted.get(partition.id) is partition:
            await self._checkpoints.before_cut(partition, offset, cut, start)

    async def remove_retired(self) -> None:
        """Files of segments that left their log, if their new starts are written down."""
        await self._checkpoints.remove_retired()

    async def close_all(self, until_synced: Callable[[], Awaitable[None]]) -> None:
        """Blocks for nobody's disk: all logs share the rounds of syncs."""
        for partition in self:
            partition.close()
            partition.log.prepare_close()
            self._ready.owe_sync(partition)
        await until_synced()
        for partition in self:
            partition.log.close()


def log_limits(config: BrokerConfig) -> LogConfig:
    """The bounds on producers that hold for all logs of the broker."""
    return LogConfig(
        producer_expiration_ms=config.number("producer.id.expiration.ms"),
        producers_max=config.number("max.producer.ids.per.partition"),
    )


def log_config(settings: TopicConfig, limits: LogConfig) -> LogConfig:
    return limits._replace(
        segment_bytes=settings.segment_bytes,
        segment_ms=settings.segment_ms,
        index_interval_bytes=settings.index_interval_bytes,
        segment_index_bytes=settings.segment_index_bytes,
    )
