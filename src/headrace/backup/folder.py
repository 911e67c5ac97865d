"""The home of backups: a folder with a file for each, and one for each stretch of a partition, which they share.

    FOLDER/headrace-backups                                       that this is such a folder, and its format
    FOLDER/backups/ID.json                                        a manifest; without it there is no such backup
    FOLDER/data/TOPIC-ID/PARTITION/FIRST-NEXT.batches             record batches, never changed
    FOLDER/lock                                                   held while one is made

Every file is written whole under another name, synced and renamed. Names are relative, with slashes, and nothing is changed
in place or listed by anything but its prefix: so another kind of place, an object store, can stand here.
"""

import fcntl
import hashlib
import os
import secrets
import time
from calendar import timegm
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from headrace.backup.manifest import Backup, SavedFile, damaged, decode, encode
from headrace.base.errors import UserError
from headrace.base.headed_text import newer_version
from headrace.base.other_format import other_format
from headrace.base.private_files import make_directory, opener
from headrace.wire.batch import HEADER_SIZE, BatchHeader, CorruptBatch, parse_header

VERSION: Final = 1
_MARK: Final = "headrace-backups"
_MARK_CONTENT: Final = f"{_MARK} {VERSION}\n".encode()
_ID_TIME: Final = "%Y%m%dT%H%M%SZ"
_HASHED_AT_ONCE: Final = 1 << 20


class Folder:
    """A folder of backups that is there; `open_folder` and `make_folder` give it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def path_of(self, name: str) -> Path:
        return self.path / name

    # -- manifests ---------------------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        """Oldest first: an id begins with its time."""
        return sorted(path.stem for path in (self.path / "backups").glob("*.json"))

    def new_id(self, created_ms: int) -> str:
        """An id that comes behind all that are there: of two in a second, or after the clock was set back, the later one
        is a second behind the newest. To be called, and saved under, while the folder is locked.
        """
        taken = max(map(_second_of, self.ids()), default=0)
        second = max(created_ms // 1000, taken + 1)
        return f"{time.strftime(_ID_TIME, time.gmtime(second))}-{secrets.token_hex(3)}"

    def read(self, id: str) -> Backup:
        path = self.path / "backups" / f"{id}.json"
        try:
            return decode(path.read_bytes(), str(path))
        except FileNotFoundError:
            raise UserError(
                f"there is no backup {id} in {self.path}", "`headrace backup list FOLDER` shows them"
            ) from None

    def newest(self) -> Backup:
        ids = self.ids()
        if not ids:
            half = any((self.path / "data").glob("*/*/*"))
            cause = "holds no finished backup, only the beginning of one" if half else "holds no backup yet"
            raise UserError(f"{self.path} {cause}", f"make one: headrace backup create {self.path}")
        return self.read(ids[-1])

    def save(self, backup: Backup) -> None:
        _write_whole(self.path / "backups" / f"{backup.id}.json", encode(backup))

    # -- data --------------------------------------------------------------------------------------------------------

    def check(self, file: SavedFile, *, whole: bool) -> None:
        """Raises UserError unless the file is as it was written; its bytes are read only if `whole`."""
        path = self.path_of(file.name)
        try:
            size = path.stat().st_size
        except OSError as error:
            raise damaged(str(path), f"{error.strerror}") from None
        if size != file.bytes:
            raise damaged(str(path), f"it has {size} bytes, and had {file.bytes}")
        if whole and _sha256_of(path) != file.sha256:
            raise damaged(str(path), "its checksum does not fit")

    def remove_all_but(self, named: set[str]) -> None:
        """Removes data files that an interrupted run left behind."""
        for path in (self.path / "data").glob("*/*/*"):
            if str(path.relative_to(self.path)) not in named:
                path.unlink()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the lock of the folder, which the kernel drops when the process ends, however it does."""
        with open(self.path / "lock", "w", opener=opener) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise UserError(f"another process makes a backup in {self.path}", "wait for its end") from None
            yield


class BatchFile:
    """One file of a partition while it is written; `seal` gives it its name."""

    def __init__(self, folder: Folder, prefix: str, first: int) -> None:
        self.first = first
        self.bytes = 0
        self._folder = folder
        self._prefix = prefix
        directory = folder.path_of(prefix)
        make_directory(directory)
        self._path = directory / f"{first:020d}.partial"
        self._file = open(self._path, "wb", opener=opener)  # noqa: SIM115  # closed by `seal` or `abandon`
        self._digest = hashlib.sha256()

    def add(self, data: memoryview) -> None:
        self._file.write(data)
        self._digest.update(data)
        self.bytes += len(data)

    def seal(self, next: int) -> SavedFile:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        name = f"{self._prefix}/{self.first:020d}-{next:020d}.batches"
        self._path.rename(self._folder.path_of(name))
        _sync_directory(self._path.parent)
        return SavedFile(name, self.first, next, self.bytes, self._digest.hexdigest())

    def abandon(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


def open_folder(where: str) -> Folder:
    path = _local(where)
    if not path.is_dir():
        raise UserError(f"there is no folder {path}", f"make a backup: headrace backup create {path}")
    if not (path / _MARK).exists():
        raise UserError(f"{path} holds no backups", f"make one in a folder of its own: headrace backup create {path}")
    _check_mark(path)
    return Folder(path)


def make_folder(where: str) -> Folder:
    """A folder for backups: a new one, an empty one, or one that has backups already."""
    path = _local(where)
    try:
        make_directory(path)
        if not (path / _MARK).exists():
            if any(path.iterdir()):
                raise UserError(f"{path} is not empty, and holds no backups", "name a new or an empty folder")
            _write_whole(path / _MARK, _MARK_CONTENT)
        _check_mark(path)
        make_directory(path / "backups")
        _sync_directory(path)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", "name a folder that you may write to") from None
    return Folder(path)


def _local(where: str) -> Path:
    scheme, separator, _ = where.partition("://")
    if separator:
        raise UserError(f"backups cannot be kept in {scheme}:// yet", "name a folder, which may be a mounted one")
    return Path(where)


def _check_mark(path: Path) -> None:
    content = (path / _MARK).read_bytes()
    if newer := newer_version(_MARK, VERSION, content):
        raise other_format(str(path), newer, VERSION)
    if content != _MARK_CONTENT:
        raise damaged(str(path / _MARK), f"it should be {_MARK_CONTENT.decode().strip()!r}")


def _second_of(id: str) -> int:
    """The second in which a backup was made; 0 for a name that somebody else gave."""
    try:
        return timegm(time.strptime(id.partition("-")[0], _ID_TIME))
    except ValueError:
        return 0


def _write_whole(path: Path, content: bytes) -> None:
    partial = path.with_name(f"{path.name}.partial")
    with open(partial, "wb", opener=opener) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
    _sync_directory(path.parent)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def last_batch(path: Path) -> tuple[BatchHeader, bytes]:
    """The last batch of a file, which must not be empty."""
    with open(path, "rb") as file:
        position, header = 0, None
        while (following := _header_at(file, position)) is not None:
            start, header = position, following
            position += header.size
        if header is None:
            raise CorruptBatch(f"{path} is empty")
        file.seek(start)
        return header, file.read(header.size)


def read_batches(path: Path) -> Iterator[tuple[BatchHeader, bytes]]:
    with open(path, "rb") as file:
        position = 0
        while (header := _header_at(file, position)) is not None:
            file.seek(position)
            yield header, file.read(header.size)
            position += header.size


def _header_at(file: BinaryIO, position: int) -> BatchHeader | None:
    """The header of the batch at a position; None at the end of the file."""
    file.seek(position)
    head = file.read(HEADER_SIZE)
    return parse_header(head) if head else None


def _sha256_of(path: Path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(_HASHED_AT_ONCE):
            digest.update(chunk)
    return digest.hexdigest()
