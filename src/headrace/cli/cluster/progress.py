"""The progress of running moves: bytes copied to the new replicas, and partitions that are done."""

import asyncio
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from headrace.admin.admin import Admin
from headrace.admin.moves import Copied, copied
from headrace.admin.survey import PartitionSeen, Survey, survey
from headrace.base.ids import TopicPartition
from headrace.base.units import size_text
from headrace.cli.cluster.throttle import lift_throttle
from headrace.cli.output import console, count_of, remark
from headrace.client.connection import Disconnected

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LOOK_SECONDS = 0.5
SILENT_SECONDS_MAX = 60.0


async def until_moved(admin: Admin, show: bool) -> None:
    """Returns when nothing moves any more. A cluster that does not answer is asked again for a while: it may restart."""
    seen = await survey(admin)
    answered_at = time.monotonic()
    topics = {each.id.topic for each in seen.moving}
    track = Track(seen)
    with _bar(show) as bar:
        while seen.moving:
            bar.show(track, seen)
            await asyncio.sleep(LOOK_SECONDS)
            try:
                seen = await survey(admin)
            except Disconnected:
                if time.monotonic() - answered_at > SILENT_SECONDS_MAX:
                    raise
                continue
            answered_at = time.monotonic()
            track.look(seen)
        bar.show(track, seen)
    await lift_throttle(admin, topics)


class Track:
    """The copies that were seen under way, and those of them that are left."""

    def __init__(self, seen: Survey) -> None:
        self._copied: dict[TopicPartition, Copied] = {}
        self._left: set[TopicPartition] = set()
        self.look(seen)

    def look(self, seen: Survey) -> None:
        moving = {each.id: copied(each) for each in seen.moving}
        for id in self._left.difference(moving):
            # It is done, so all of it was copied; or cancelled, and then there is nothing more to come.
            total = self._copied[id].total_bytes
            self._copied[id] = Copied(total, total)
        self._copied.update(moving)
        self._left = set(moving)

    @property
    def partitions(self) -> int:
        return len(self._copied)

    @property
    def partitions_done(self) -> int:
        return len(self._copied) - len(self._left)

    @property
    def done_bytes(self) -> int:
        return sum(each.done_bytes for each in self._copied.values())

    @property
    def total_bytes(self) -> int:
        return sum(each.total_bytes for each in self._copied.values())

    def words(self) -> str:
        return (
            f"{self.partitions_done}/{count_of(self.partitions, 'partition')}, "
            f"{size_text(self.done_bytes)} of {size_text(self.total_bytes)}"
        )


class _Bar:
    """On a terminal a bar; elsewhere a line at the beginning and one at the end."""

    def __init__(self) -> None:
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._said = ""

    def __enter__(self) -> "_Bar":
        if sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TextColumn

            self._progress = Progress(
                TextColumn("moving"), BarColumn(), TextColumn("{task.description}"), console=console(stderr=True)
            )
            self._task = self._progress.add_task("", total=None)
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def show(self, track: Track, seen: Survey) -> None:
        words = track.words()
        waiting = dead_targets(seen.moving, seen)
        if waiting:
            words += f"; waits for broker {', '.join(map(str, waiting))}, which is dead"
        if self._progress is not None and self._task is not None:
            total = max(track.total_bytes, 1)
            done = track.done_bytes if seen.moving else total
            self._progress.update(self._task, description=words, total=total, completed=done)
        elif not self._said or not seen.moving:
            self._said = words
            remark(f"moving: {words}")


class _NoBar(_Bar):
    def __enter__(self) -> "_NoBar":
        return self

    def show(self, track: Track, seen: Survey) -> None:
        pass


def _bar(show: bool) -> _Bar:
    return _Bar() if show else _NoBar()


def dead_targets(moving: Iterable[PartitionSeen], seen: Survey) -> list[int]:
    alive = {broker.id for broker in seen.live}
    return sorted({each for partition in moving for each in partition.adding if each not in alive})
