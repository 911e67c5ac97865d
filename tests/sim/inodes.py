"""What a simulated disk is made of: files and directories, each with a visible and a durable side.

A change goes to the visible side at once and into a list; a sync moves a stretch of that list to the durable side; a
power cut moves a random part of the rest and forgets the other. See `disk` for the machine around it.
"""

from random import Random
from typing import TypeVar

from headrace.base.disk import Chunk

SECTOR = 512
T = TypeVar("T")


class Inode:
    """One file's content, visible and durable, and the changes between the two."""

    def __init__(self) -> None:
        self.content = bytearray()
        self.durable = bytearray()
        self.unsynced: list[Change] = []
        self.forgotten = 0

    def write(self, position: int, chunk: Chunk) -> None:
        change = Write(position, bytes(chunk))
        change.apply(self.content)
        self.unsynced.append(change)

    def truncate(self, size: int) -> None:
        change = Truncate(size)
        change.apply(self.content)
        self.unsynced.append(change)

    def mark(self) -> int:
        """How many changes there have been: a sync that is begun now covers them."""
        return self.forgotten + len(self.unsynced)

    def settle(self, mark: int, lost: bool = False) -> None:
        """Moves what the mark covers to the durable side; if lost, only forgets it, as a failed fsync does with bytes. A
        length is a matter of the journal, as names are: see `Directory.settle`."""
        covered = max(0, mark - self.forgotten)
        kept = [change for change in self.unsynced[:covered] if isinstance(change, Truncate)] if lost else []
        for change in [] if lost else self.unsynced[:covered]:
            change.apply(self.durable)
        self.unsynced[:covered] = kept
        self.forgotten += covered - len(kept)

    def lose_power(self, rng: Random) -> None:
        size = len(self.durable)
        for change in _survivors(self.unsynced, rng):
            change.apply_torn(self.durable, rng)
            size = change.size_after(size)
        if len(self.durable) < size and rng.random() < 0.5:
            self.durable.extend(bytes(size - len(self.durable)))
        self.content = bytearray(self.durable)
        self.forgotten += len(self.unsynced)
        self.unsynced = []


class Write:
    def __init__(self, position: int, chunk: bytes) -> None:
        self.position = position
        self.chunk = chunk
        self.end = position + len(chunk)

    def apply(self, content: bytearray) -> None:
        if len(content) < self.position:
            content.extend(bytes(self.position - len(content)))
        content[self.position : self.end] = self.chunk

    def size_after(self, size: int) -> int:
        return max(size, self.end)

    def apply_torn(self, content: bytearray, rng: Random) -> None:
        """Whole, or sector by sector."""
        kept = rng.choice((1.0, 1.0, 0.5, 0.9))
        start = self.position
        while start < self.end:
            end = min(self.end, (start // SECTOR + 1) * SECTOR)
            if rng.random() < kept:
                Write(start, self.chunk[start - self.position : end - self.position]).apply(content)
            start = end


class Truncate:
    def __init__(self, size: int) -> None:
        self.size = size

    def apply(self, content: bytearray) -> None:
        if self.size > len(content):
            content.extend(bytes(self.size - len(content)))
        del content[self.size :]

    def size_after(self, size: int) -> int:
        return self.size

    def apply_torn(self, content: bytearray, rng: Random) -> None:
        self.apply(content)


Change = Write | Truncate


class Directory:
    """Names of files and directories, visible and durable; a change sets or removes a few names at once."""

    def __init__(self) -> None:
        self.entries: dict[str, Inode | Directory] = {}
        self.durable: dict[str, Inode | Directory] = {}
        self.unsynced: list[dict[str, Inode | Directory | None]] = []
        self.forgotten = 0

    def change(self, names: "dict[str, Inode | Directory | None]") -> None:
        _rename(self.entries, names)
        self.unsynced.append(names)

    def mark(self) -> int:
        return self.forgotten + len(self.unsynced)

    def settle(self, mark: int, lost: bool = False) -> None:
        """A failed sync leaves names in the list, unlike bytes: a file system with a journal keeps what it could not
        commit, or takes no more changes until it is mounted again. It proves no later change without the earlier."""
        if lost:
            return
        covered = max(0, mark - self.forgotten)
        for names in self.unsynced[:covered]:
            _rename(self.durable, names)
        del self.unsynced[:covered]
        self.forgotten += covered

    def lose_power(self, rng: Random) -> None:
        for names in _survivors(self.unsynced, rng):
            _rename(self.durable, names)
        self.forgotten += len(self.unsynced)
        self.unsynced = []
        self.entries = dict(self.durable)
        for name in sorted(self.entries):
            self.entries[name].lose_power(rng)


def _rename(entries: "dict[str, Inode | Directory]", names: "dict[str, Inode | Directory | None]") -> None:
    for name, node in names.items():
        if node is None:
            entries.pop(name, None)
        else:
            entries[name] = node


def _survivors(changes: list[T], rng: Random) -> list[T]:
    match rng.randrange(4):
        case 0:
            return []
        case 1:
            return changes
        case 2:
            return changes[: rng.randint(0, len(changes))]
        case _:
            return [change for change in changes if rng.random() < 0.5]
