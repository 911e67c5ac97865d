"""Openings of partitions, beside the image: those that it gives to this broker and that are not open yet.

    want ─▶ waiting ─▶ opening, a few in a turn ─▶ hosted, and `on_opened` is told
                                             └──▶ left over, with its cause

To open waits for the disk, and what the image says of leaders may not: a disk that hangs, or a topic of a thousand
partitions, would hold up every fail-over. Until it is open a partition is refused as if it were elsewhere.

A partition that cannot be opened is left over: it keeps nobody else from being served, and is tried again with the next
image. So is one that is opened late with a hole in it, as long as the cluster counts on this copy: see
`replication.doubtful_copies`.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from itertools import islice

from headrace.base.clock import Clock
from headrace.base.errors import DiskFull
from headrace.base.ids import TopicPartition
from headrace.broker.checkpoints import Checkpoints
from headrace.broker.disk.partition_directories import Unclaimed, Vanished
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.hosting.doubts import CopyDoubts
from headrace.broker.hosting.opener import Claim, Opener, WantedPartition
from headrace.broker.hosting.topic_settings import TopicSettings, tell
from headrace.broker.partitions import Partitions
from headrace.cluster.damage import must_stand_down
from headrace.partition.partition import Partition
from headrace.wire.batch import CorruptBatch

logger = logging.getLogger("headrace.partitions")

# Opening a partition is a few file operations, each of which may have to wait for the disk; after this many the loop
# gets a turn.
OPEN_PER_TURN = 10
# While nobody is served: at the start.
OPEN_PER_TURN_UNSEEN = 200


class Doubtful(Exception):
    """Recovery found a hole in a log that the cluster still counts on."""


class Openings:
    def __init__(
        self,
        partitions: Partitions,
        opener: Opener,
        settings: TopicSettings,
        checkpoints: Checkpoints,
        doubts: CopyDoubts,
        watch: DiskWatch,
        clock: Clock,
        on_opened: Callable[[list[Partition]], None],
    ) -> None:
        self._partitions = partitions
        self._opener = opener
        self._settings = settings
        self._checkpoints = checkpoints
        self._doubts = doubts
        self._watch = watch
        self._clock = clock
        self._on_opened = on_opened
        self._waiting: dict[TopicPartition, None] = {}
        self._opening: dict[TopicPartition, None] = {}
        self._has_waiting = asyncio.Event()
        self._has_opened = asyncio.Event()
        # From the start on others may count on a copy before it is opened.
        self._is_started = False

    @property
    def unopened(self) -> int:
        """How many the image gives us and are not open: they wait for their turn, or could not be opened."""
        return len(self._waiting) + len(self._opening) + len(self._partitions.left_over)

    @property
    def needs_room(self) -> bool:
        """Whether some could not be opened on a full disk: worth another try when it no longer is full."""
        return any(isinstance(cause, DiskFull) for cause in self._partitions.left_over.values())

    def want(self, id: TopicPartition) -> None:
        self._waiting[id] = None
        self._has_waiting.set()

    def is_opening(self, topic: str, index: int) -> bool:
        """Whether the image gives us this partition, and it is neither open yet nor left over."""
        id = TopicPartition(topic, index)
        return id in self._waiting or id in self._opening

    async def until_opened(self, topic: str, seconds: float) -> None:
        """Returns when no partition of this topic is still to be opened here, or after so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while any(id.topic == topic for ids in (self._waiting, self._opening) for id in ids):
                    self._has_opened.clear()
                    await self._has_opened.wait()

    async def run(self) -> None:
        """Opens partitions that the metadata bring after the start."""
        self._is_started = True
        while True:
            await self._has_waiting.wait()
            await self.open_waiting()

    async def open_waiting(self) -> None:
        """Returns when all that the image gives us is open, or left over."""
        while self._waiting:
            per_turn = OPEN_PER_TURN_UNSEEN if self._partitions.is_fenced else OPEN_PER_TURN
            self._opening = dict.fromkeys(islice(self._waiting, per_turn))
            for id in self._opening:
                del self._waiting[id]
            await self._open_turn([found for found in map(self._find_wanted, self._opening) if found is not None])
            self._opening = {}
            self._has_opened.set()
        self._has_waiting.clear()

    def _find_wanted(self, id: TopicPartition) -> WantedPartition | None:
        """The partition as the newest image has it; None when it is not ours any more, or open."""
        image = self._partitions.image
        topic, state = image.topics.get(id.topic), image.partition(*id)
        if topic is None or not self._partitions.is_ours(state) or self._partitions.find(*id) is not None:
            return None
        return WantedPartition(topic, id.partition, self._settings.of(topic))

    async def _open_turn(self, turn: list[WantedPartition]) -> None:
        if not turn:
            return
        # Each claim syncs a file and a directory: not for the loop.
        claims = await self._watch.in_thread(self._opener.claim_all, turn, self._checkpoints.known_replicas)
        if any(isinstance(claim, Vanished) for claim in claims):
            claims = await self._made_anew(turn, claims)
        if any(self._checkpoints.may_name(wanted.written_as) for wanted in turn):
            claims = await self._forgotten_first(claims)
        opened = [self._try_to_open(wanted, claim) for wanted, claim in zip(turn, claims, strict=True)]
        # The directory that names them must be on disk before any of them may acknowledge a write.
        await self._watch.in_thread(self._opener.sync_names)
        partitions = [partition for partition in opened if partition is not None]
        await self._checkpoints.note_opened(partitions)
        self._opening = {}
        self._on_opened([partition for partition in partitions if self._host(partition)])

    async def _forgotten_first(self, claims: list[Claim]) -> list[Claim]:
        """One that was here, was moved away and is back: what the files say of it would make its new log look damaged."""
        try:
            await self._checkpoints.save()
        except DiskFull as full:
            return [full] * len(claims)
        return claims

    async def _made_anew(self, turn: list[WantedPartition], claims: list[Claim]) -> list[Claim]:
        """Directories that vanished are made again, after it was written down that their logs lack something."""
        vanished = [each for each, claim in zip(turn, claims, strict=True) if isinstance(claim, Vanished)]
        for wanted in vanished:
            logger.error(
                "%(topic)s-%(partition)d was on this disk and is gone: its directory is made anew, and copied from others",
                {**wanted.id._asdict(), "epoch": wanted.leader_epoch},
            )
        try:
            await self._checkpoints.note_vanished(wanted.written_as for wanted in vanished)
        except DiskFull as full:
            return [full if isinstance(claim, Vanished) else claim for claim in claims]
        again = iter(await self._watch.in_thread(self._opener.claim_all, vanished, ()))
        return [next(again) if isinstance(claim, Vanished) else claim for claim in claims]

    def _try_to_open(self, wanted: WantedPartition, claim: Claim) -> Partition | None:
        id, left_over = wanted.id, self._partitions.left_over
        try:
            if isinstance(claim, Exception):
                raise claim
            partition = self._opener.open(wanted, self._settings.limits, is_new=claim)
        except (DiskFull, CorruptBatch, Unclaimed, OSError) as cause:
            if str(left_over.get(id)) != str(cause):
                logger.error(
                    "%(topic)s-%(partition)d cannot be opened: %(cause)s",
                    {**id._asdict(), "epoch": wanted.leader_epoch, "cause": cause},
                )
            left_over[id] = cause
            return None
        left_over.pop(id, None)
        return partition

    def _host(self, partition: Partition) -> bool:
        """Whether it is still ours; if so it is told what the image says by now."""
        wanted = self._find_wanted(partition.id)
        if wanted is None or wanted.topic.id != partition.topic_id:
            partition.end()
            self._opener.discard(partition)
            return False
        state = wanted.topic.partitions[wanted.number]
        doubt = self._doubts.found(partition.topic_id, wanted.number)
        if self._is_started and doubt is not None:
            if must_stand_down(state, partition.broker_id, doubt):
                self._withhold(partition)
                return False
            self._doubts.drop(partition.topic_id, wanted.number)
            partition.log.damage.forget()
        self._partitions.add(partition)
        tell(partition, state, wanted.settings, self._clock.now())
        return True

    def _withhold(self, partition: Partition) -> None:
        """Opened again when the cluster does not count on it any more: until then it might lead."""
        partition.end()
        partition.log.close()
        cause = Doubtful(f"records are gone from the disk of broker {partition.broker_id}")
        self._partitions.left_over[partition.id] = cause
