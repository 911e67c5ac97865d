"""The replicas that this broker has opened before: how one whose directory vanished is told from a new one.

    DATA/replicas     its format, then a line for each, by topic id; written after the directory is durable and before the
                      first ack

A new replica is in sync with nothing in it, since nobody has anything yet. One that was here before and has no directory
any more (deleted by hand, a disk that lost it) has lost what it acknowledged, and must not count as in sync. Checkpoints do
not tell the two apart: they are written seconds later, and on a full disk not at all.

Only evidence: a file that is missing or damaged says nothing, and is written anew with the replicas that are there.
"""

from collections.abc import Collection, Iterable
from contextlib import suppress
from typing import Final

from headrace.base.disk import Disk
from headrace.base.errors import DiskFull
from headrace.base.file_sync import Job
from headrace.base.headed_text import newer_version
from headrace.base.ids import TopicPartition
from headrace.base.other_format import other_format

# The file is written anew when it has so many lines more than twice the replicas that there are.
DEAD_LINES_MAX: Final = 10_000
VERSION: Final = 1
_NAME: Final = "headrace-replicas"
_HEAD: Final = f"{_NAME} {VERSION}".encode()


class KnownReplicas:
    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self._path = f"{path}/replicas"
        self._known: dict[TopicPartition, None] = {}
        self._lines = 0
        self._is_whole = disk.exists(self._path) and self._load()

    def _load(self) -> bool:
        """Whether every line is sound: a crash may have torn the last."""
        content = self._disk.read(self._path)
        if newer := newer_version(_NAME, VERSION, content):
            raise other_format(self._path, newer, VERSION)
        *lines, rest = content.split(b"\n")
        has_head = lines[:1] == [_HEAD]
        found = list(map(_parse, lines[has_head:]))
        self._known = {each: None for each in found if each is not None}
        self._lines = len(found)
        return has_head and not rest and None not in found

    def __contains__(self, written_as: object) -> bool:
        return written_as in self._known

    @property
    def names(self) -> Collection[TopicPartition]:
        return self._known.keys()

    def forget(self, written_as: TopicPartition) -> None:
        """In memory. A line that is left in the file is harmless: a replica that comes back is not in sync at first."""
        self._known.pop(written_as, None)

    def add(self, opened: Iterable[TopicPartition]) -> Job | None:
        """A job for a thread, to do before these are hosted; None when all are known. On a full disk they are only
        remembered, and written when the file is written anew.
        """
        new = [each for each in opened if each not in self._known]
        if not new:
            return None
        self._known.update(dict.fromkeys(new))
        self._lines += len(new)
        if self._is_whole and self._lines <= 2 * len(self._known) + DEAD_LINES_MAX:
            content = _lines_of(new)
            return lambda: self._write(lambda: self._append(content))
        self._lines = len(self._known)
        content = _HEAD + b"\n" + _lines_of(self._known)
        return lambda: self._write(lambda: self._disk.write_atomic(self._path, content))

    def _write(self, write: Job) -> None:
        self._is_whole = False
        with suppress(DiskFull):
            write()
            self._is_whole = True

    def _append(self, content: bytes) -> None:
        file = self._disk.open(self._path)
        try:
            file.append(content)
            file.sync_job()()
        finally:
            file.close()


def _lines_of(names: Iterable[TopicPartition]) -> bytes:
    return "".join(f"{topic} {partition}\n" for topic, partition in names).encode()


def _parse(line: bytes) -> TopicPartition | None:
    try:
        topic, partition = line.decode().split(" ")
        return TopicPartition(topic, int(partition))
    except ValueError:
        return None
