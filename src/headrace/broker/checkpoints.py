"""The checkpoint files of a broker, about all its logs: how far each is on disk, where it starts, what was committed.

    DATA/recovery-points, start-offsets, high-watermarks      one file each for all partitions, by topic id: a topic
                              that was deleted and made again under its old name starts from nothing
    DATA/relaxed              the same, of logs whose acks rest on memory: how far each was on disk when that began. It is
                              written before they do: a topic that is made relaxed is so from the next checkpoint on
    DATA/replicas             which were ever opened: see `disk.known_replicas`

A log stays in `relaxed` until its topic is durable and all of it is on disk, whatever becomes of the topic's settings
while its broker is down: when its machine lost power it lacks what it acknowledged.

Segments go only below a start that is in its file: a power cut may bring back any of them, and a log that starts below
would then have holes. To write needs room, and on a full disk there is none: see `disk.spare_room`.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Iterable
from contextlib import suppress
from typing import Any

from headrace.base.disk import Disk
from headrace.base.errors import DiskFull
from headrace.base.ids import TopicPartition
from headrace.broker.disk.known_replicas import KnownReplicas
from headrace.broker.disk.spare_room import SpareRoom
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.hosting.moved import Moved
from headrace.log import checkpoint
from headrace.partition.partition import Partition
from headrace.partition.role import assert_bounds, count_on_memory

PER_TURN = 1000
UNLINK_PER_TURN = 50

Offsets = dict[TopicPartition, int]


class Checkpoints:
    def __init__(self, disk: Disk, path: str, watch: DiskWatch, moved: Moved) -> None:
        self.moved = moved
        self._disk = disk
        self._watch = watch
        self._recovery_points_path = f"{path}/recovery-points"
        self._start_offsets_path = f"{path}/start-offsets"
        self._high_watermarks_path = f"{path}/high-watermarks"
        self._relaxed_path = f"{path}/relaxed"
        # A damaged file says nothing: logs are then scanned whole, and start at their first segment.
        self.recovery_points = checkpoint.load(disk, self._recovery_points_path).offsets
        self.start_offsets = checkpoint.load(disk, self._start_offsets_path).offsets
        self.high_watermarks = checkpoint.load(disk, self._high_watermarks_path).offsets
        self.relaxed = checkpoint.load(disk, self._relaxed_path).offsets
        self.are_doubts_told = False
        """Whether the cluster knows what is wrong with our logs. Until then nothing of that may be forgotten."""
        self.known_replicas = KnownReplicas(disk, path)
        self._spare = SpareRoom(disk, path)
        self._spare.hold()
        self._files: dict[str, Offsets] = {self._relaxed_path: dict(self.relaxed)}
        """The content of each file, by path, as this process last wrote it. Few need the last: only where it changes."""
        self._is_saved = False
        self._unsaved: dict[Partition, None] = {}
        self._forgotten: dict[TopicPartition, None] = {}
        """Partitions forgotten since the files were last written whole."""
        self._retiring: dict[Partition, int] = {}
        """With the start that is on disk."""
        self._writing = asyncio.Lock()

    @property
    def names(self) -> set[TopicPartition]:
        offsets = {*self.recovery_points, *self.start_offsets, *self.high_watermarks, *self.relaxed}
        return offsets.union(self.known_replicas.names)

    def forget(self, written_as: TopicPartition) -> None:
        """If it ever comes back, it begins anew: what was written of this log would make that one look damaged."""
        for offsets in (self.recovery_points, self.start_offsets, self.high_watermarks, self.relaxed):
            offsets.pop(written_as, None)
        self.known_replicas.forget(written_as)
        self._forgotten[written_as] = None
        self._is_saved = False

    def may_name(self, forgotten: TopicPartition) -> bool:
        """Whether the files may still say something of a log that is forgotten: a write may have been under way then."""
        return forgotten in self._forgotten

    async def note_opened(self, opened: Collection[Partition]) -> None:
        """Before they are hosted, and after their directories are durable."""
        relaxed = [each for each in opened if not each.is_durable and each.written_as not in self.relaxed]
        for partition in relaxed:
            self._note_relaxed(partition)
        if relaxed:
            # On a full disk it is written with the next checkpoint for which there is room.
            with suppress(DiskFull):
                await self._in_turn(self._save_file(self._relaxed_path, dict(self.relaxed)))
        write = self.known_replicas.add(each.written_as for each in opened)
        if write is not None:
            await self._watch.in_thread(write)

    async def note_vanished(self, vanished: Iterable[TopicPartition]) -> None:
        """Before their directories are made anew: an empty log with a recovery point is damaged, for the start after a
        crash too, and no longer when it has caught up. Raises DiskFull."""
        for name in vanished:
            self.recovery_points[name] = max(1, self.recovery_points.get(name, 0))
        await self._in_turn(self._save_file(self._recovery_points_path, dict(self.recovery_points)))

    # -- saving ----------------------------------------------------------------------------------------------------

    async def save(self) -> None:
        """Writes down what has moved up to the moment of its turn. Raises DiskFull; what could be saved is saved then, and
        the rest is tried again by the next call."""
        await self._in_turn(self._save())

    async def _save(self) -> None:
        unsaved, self._unsaved = {**self._unsaved, **self.moved.take_unsaved()}, {}
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
                partition.log.snapshots.prune(self.recovery_points[partition.written_as], partition.log.start_offset)

    async def _write_down(self, partitions: Iterable[Partition]) -> None:
        """The values are of now."""
        noted: dict[Partition, int] = {}
        for count, partition in enumerate(partitions, 1):
            if not partition.is_gone:
                self._note(partition)
                noted[partition] = partition.log.start_offset
            if count % PER_TURN == 0:
                await asyncio.sleep(0)
        starts, points, watermarks = map(dict, (self.start_offsets, self.recovery_points, self.high_watermarks))
        relaxed = dict(self.relaxed)
        unnamed = list(self._forgotten)
        # Starts first: a log that was cut above its recovery point must not look damaged.
        frees = any(partition.log.segments.has_below(start) for partition, start in noted.items())
        await self._save_file(self._start_offsets_path, starts, frees)
        self._retiring.update(noted)
        await self._save_file(self._recovery_points_path, points)
        await self._save_file(self._high_watermarks_path, watermarks)
        await self._save_file(self._relaxed_path, relaxed)
        for partition in noted:
            if partition.written_as in relaxed and not partition.is_gone:
                count_on_memory(partition)
        for name in unnamed:
            self._forgotten.pop(name, None)

    def _note(self, partition: Partition) -> None:
        assert_bounds(partition)
        name = partition.written_as
        self.recovery_points[name] = partition.log.sync.synced_end
        self.high_watermarks[name] = partition.high_watermark
        if partition.log.start_offset:
            self.start_offsets[name] = partition.log.start_offset
        else:
            self.start_offsets.pop(name, None)
        self._note_relaxed(partition)

    def _note_relaxed(self, partition: Partition) -> None:
        if not partition.config.is_durable:
            self.relaxed.setdefault(partition.written_as, partition.log.sync.synced_end)
        elif partition.is_proven and self.are_doubts_told:
            self.relaxed.pop(partition.written_as, None)

    async def _save_file(self, path: str, offsets: Offsets, frees: bool = False) -> None:
        """Nothing, where the file has them already: it would take two syncs, and appends to the same disk wait for these.
        `frees`: what it says lets go of room, so on a full disk the spare room is given up for it."""
        if self._files.pop(path, None) != offsets:
            try:
                await self._watch.in_thread(checkpoint.save, self._disk, path, offsets)
            except DiskFull:
                if not frees or not await self._watch.in_thread(self._spare.give_up):
                    raise
                await self._watch.in_thread(checkpoint.save, self._disk, path, offsets)
        self._files[path] = offsets

    # -- what goes after it was written down -----------------------------------------------------------------------

    async def remove_retired(self) -> None:
        """Files of segments below the starts that are on disk, if there are any."""
        retiring, self._retiring = self._retiring, {}
        paths = [
            path
            for partition, start in retiring.items()
            if not partition.is_gone
            for path in partition.log.retire_segments(start)
        ]
        # A few at a time: all of them might take as long as a disk that hangs.
        for begin in range(0, len(paths), UNLINK_PER_TURN):
            await self._watch.in_thread(_unlink_all, self._disk, paths[begin : begin + UNLINK_PER_TURN])
        if not self._spare.is_held:
            await self._watch.in_thread(self._spare.hold)

    async def before_cut(
        self, partition: Partition, offset: int, cut: Callable[[], None], start: int | None = None
    ) -> None:
        """Cut what is at `offset` and above. After a crash in the midst of it recovery must scan from there, so the lower
        recovery point is on disk first; and no other checkpoint may come between the two, with a point of before."""
        await self._in_turn(self._before_cut(partition, offset, cut, start))

    async def _before_cut(self, partition: Partition, offset: int, cut: Callable[[], None], start: int | None) -> None:
        if partition.is_gone:
            return
        name = partition.written_as
        self._unsaved[partition] = None
        if offset < partition.high_watermark:
            # Only after an unclean election. What it takes away must not look like a loss to the next start.
            self.high_watermarks[name] = offset
            await self._save_file(self._high_watermarks_path, dict(self.high_watermarks), frees=True)
        self.recovery_points[name] = min(partition.log.sync.synced_end, offset)
        await self._save_file(self._recovery_points_path, dict(self.recovery_points), frees=True)
        if start is not None:
            # A log that begins above the start that is written down has lost its head.
            self.start_offsets[name] = start
            await self._save_file(self._start_offsets_path, dict(self.start_offsets), frees=True)
        if not partition.is_gone:
            cut()

    async def _in_turn(self, write: Coroutine[Any, Any, None]) -> None:
        """One writer of these files at a time, and each to its end: one that is cancelled with the request it served
        would go on in its thread, beside the next."""

        async def locked() -> None:
            async with self._writing:
                await write

        await asyncio.shield(asyncio.get_running_loop().create_task(locked()))


def _unlink_all(disk: Disk, paths: list[str]) -> None:
    for path in paths:
        disk.unlink(path)
