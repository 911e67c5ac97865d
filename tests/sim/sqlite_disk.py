"""A disk below SQLite that fails, fills up and loses power: SQLite's own file layer, with every write and sync noted.

What SQLite sees is in real files. Beside them stands what a disk would hold: a write is certain once its file was synced;
before that a power cut keeps any of its sectors. A sync that fails forgets what it should have written, as Linux does.
Names of files are never lost, and the shared memory of a log, which no power cut keeps, is made anew.
"""

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import apsw

SECTOR = 512
Write = tuple[int, bytes | None]
"""Where, and what; None cuts the file there."""


class Disk:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.certain: dict[str, bytearray] = {}
        self.pending: dict[str, list[Write]] = {}

    def write(self, path: str, write: Write) -> None:
        self.pending.setdefault(path, []).append(write)

    def sync(self, path: str, is_failing: bool) -> None:
        writes, self.pending[path] = self.pending.get(path, []), []
        self._apply(path, [each for each in writes if not is_failing or self.rng.random() < 0.5])

    def delete(self, path: str) -> None:
        self.certain.pop(path, None)
        self.pending.pop(path, None)

    def lose_power(self, to: Path) -> None:
        """What is left, in a folder of its own."""
        keep = self.rng.choice((0.0, 0.5, 0.9))
        for path in list(self.pending):
            sectors = [piece for write in self.pending[path] for piece in _sectors(write)]
            self._apply(path, [piece for piece in sectors if self.rng.random() < keep])
        self.pending.clear()
        images = {str(to / Path(path).name): image for path, image in self.certain.items()}
        for path, image in images.items():
            Path(path).write_bytes(image)
        self.certain = images

    def _apply(self, path: str, writes: list[Write]) -> None:
        image = self.certain.setdefault(path, bytearray())
        for offset, data in writes:
            if data is None:
                del image[offset:]
            else:
                image.extend(bytes(max(0, offset - len(image))))
                image[offset : offset + len(data)] = data


def _sectors(write: Write) -> list[Write]:
    offset, data = write
    if data is None:
        return [write]
    return [(offset + start, data[start : start + SECTOR]) for start in range(0, len(data), SECTOR)]


class Files(apsw.VFS):
    """SQLite's files as one process has them. `on_step` is told of each write, sync, cut and deletion before it is done."""

    def __init__(self, name: str, disk: Disk, on_step: Callable[["Files", str], None]) -> None:
        self.name = name
        self.disk = disk
        self.on_step = on_step
        self.is_dead = False
        super().__init__(name, "unix", makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> "File":
        return File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        self.step("delete")
        super().xDelete(filename, syncdir)
        self.disk.delete(filename)

    def step(self, what: str) -> None:
        if not self.is_dead:
            self.on_step(self, what)
        if self.is_dead:
            raise apsw.IOError("the process is gone")


class File(apsw.VFSFile):
    def __init__(self, files: Files, name: Any, flags: list[int]) -> None:
        self._files = files
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else str(name)
        super().__init__("unix", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:
        self._files.step("write")
        super().xWrite(data, offset)
        self._files.disk.write(self._path, (offset, bytes(data)))

    def xTruncate(self, newsize: int) -> None:
        self._files.step("cut")
        super().xTruncate(newsize)
        self._files.disk.write(self._path, (newsize, None))

    def xSync(self, flags: int) -> None:
        try:
            self._files.step("sync")
        except apsw.IOError:
            if not self._files.is_dead:
                self._files.disk.sync(self._path, is_failing=True)
            raise
        self._files.disk.sync(self._path, is_failing=False)
