"""The disk port: a broker reaches its files through `Disk` and `File` only, so that a simulator can stand in for both.

Invariant: bytes whose `append` raised are not in the file. A full disk cuts the partial write back and is `DiskFull`;
any other failure is `DiskFailed`, and nothing is retried: what a disk kept after a failed sync is unknown. Paths are
plain strings with `/`. Nothing here knows about segments, indexes or offsets.
"""

import contextlib
import errno
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from headrace.base.errors import DiskFailed, DiskFull, UserError
from headrace.base.file_sync import FileSync, Job, full_sync
from headrace.base.private_files import FILE_MODE, make_directory, opener

Chunk = bytes | bytearray | memoryview

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_BROKEN = frozenset({errno.EIO, errno.EROFS, errno.ENXIO, getattr(errno, "EUCLEAN", errno.EIO)})
_REWRITE_BYTES = 1 << 20


class File(Protocol):
    """An open file, written at its end only. All but the callable of `sync_job` is called on the event loop.

    `pin` holds the descriptor open for a thread or a reply that still needs it; `close` waits for the last `unpin`.
    """

    path: str
    size: int
    pins: int

    def append(self, chunk: Chunk) -> None: ...

    def pread(self, length: int, position: int) -> bytes: ...

    def truncate(self, size: int) -> None: ...

    def rewrite(self, position: int) -> None:
        """Writes the bytes from `position` on once more.

        A sync that failed leaves bytes in the page cache that no later sync would write: they look as if they were on
        disk until the power goes.
        """

    def sync_job(self) -> Job:
        """A job that proves, once it has run (in any thread), all that was written before this call, but no later write."""

    def fileno(self) -> int | None:
        """The descriptor for sendfile; None where there is none (the simulator)."""

    def pin(self) -> None: ...

    def unpin(self) -> None: ...

    def close(self) -> None: ...


class Disk(Protocol):
    def open(self, path: str, create: bool = False) -> File: ...

    def listdir(self, path: str) -> list[str]: ...

    def exists(self, path: str) -> bool: ...

    def size(self, path: str) -> int: ...

    def mkdir(self, path: str) -> None:
        """Makes a directory with its parents; one that exists is fine."""

    def rename(self, source: str, target: str) -> None: ...

    def unlink(self, path: str) -> None:
        """Removes a name; a missing one is fine."""

    def remove_tree(self, path: str) -> None: ...

    def read(self, path: str) -> bytes: ...

    def write_atomic(self, path: str, content: bytes) -> None:
        """Writes a whole file; blocks until durable. After a crash the path holds the old content or the new, never
        both."""

    def sync_dir_job(self, path: str) -> Job:
        """A job that syncs the names in a directory (files made, renamed and unlinked), as `File.sync_job` does bytes."""

    def free_bytes(self, path: str) -> int: ...

    def total_bytes(self, path: str) -> int: ...

    def device(self, path: str) -> str:
        """The file system that holds `path`: the same text for all paths on it, until the next boot of the machine."""

    def lock(self, path: str) -> Job:
        """Holds the path for this process until the returned release is called or the process dies."""


class RealFile:
    __slots__ = ("_closing", "_fd", "device", "path", "pins", "size")

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._closing = False
        self.path = path
        status = os.fstat(fd)
        self.size = status.st_size
        self.device = status.st_dev
        self.pins = 0

    def append(self, chunk: Chunk) -> None:
        end = self.size + len(chunk)
        try:
            written = os.pwrite(self._fd, chunk, self.size)
            if written != len(chunk):
                self._append_rest(memoryview(chunk)[written:], self.size + written)
        except OSError as error:
            self._cut_back()
            raise _failure(error, self.path) from error
        self.size = end

    def _append_rest(self, rest: memoryview, position: int) -> None:
        while rest:
            written = os.pwrite(self._fd, rest, position)
            position += written
            rest = rest[written:]

    def _cut_back(self) -> None:
        try:
            os.ftruncate(self._fd, self.size)
        except OSError as error:
            raise DiskFailed(f"{self.path}: cannot cut a failed write back: {error.strerror}") from error

    def pread(self, length: int, position: int) -> bytes:
        try:
            return os.pread(self._fd, length, position)
        except OSError as error:
            raise DiskFailed(f"{self.path}: {error.strerror}") from error

    def truncate(self, size: int) -> None:
        try:
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise DiskFailed(f"{self.path}: {error.strerror}") from error
        self.size = size

    def rewrite(self, position: int) -> None:
        while position < self.size:
            chunk = self.pread(min(_REWRITE_BYTES, self.size - position), position)
            try:
                position += os.pwrite(self._fd, chunk, position)
            except OSError as error:
                raise _failure(error, self.path) from error

    def sync_job(self) -> Job:
        return FileSync(self._fd, self.device, self.path)

    def fileno(self) -> int | None:
        return self._fd

    def pin(self) -> None:
        self.pins += 1

    def unpin(self) -> None:
        self.pins -= 1
        assert self.pins >= 0, (self.path, self.pins)
        if self._closing and self.pins == 0:
            self._close_now()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if self.pins == 0:
                self._close_now()

    def _close_now(self) -> None:
        os.close(self._fd)
        # A stale handle then fails with EBADF; its old number could stand for some other file by then.
        self._fd = -1


class RealDisk:
    def open(self, path: str, create: bool = False) -> RealFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        with _translated(path):
            return RealFile(os.open(path, flags, FILE_MODE), path)

    def listdir(self, path: str) -> list[str]:
        with _translated(path):
            return sorted(entry.name for entry in os.scandir(path))

    def exists(self, path: str) -> bool:
        return Path(path).exists()

    def size(self, path: str) -> int:
        with _translated(path):
            return Path(path).stat().st_size

    def mkdir(self, path: str) -> None:
        with _translated(path):
            make_directory(Path(path))

    def rename(self, source: str, target: str) -> None:
        with _translated(source):
            Path(source).rename(target)

    def unlink(self, path: str) -> None:
        with _translated(path):
            Path(path).unlink(missing_ok=True)

    def remove_tree(self, path: str) -> None:
        with _translated(path), contextlib.suppress(FileNotFoundError):
            shutil.rmtree(path)

    def read(self, path: str) -> bytes:
        with _translated(path):
            return Path(path).read_bytes()

    def write_atomic(self, path: str, content: bytes) -> None:
        temporary = f"{path}.tmp"
        with _translated(path):
            with open(temporary, "wb", opener=opener) as file:
                file.write(content)
                file.flush()
                full_sync(file.fileno())
            Path(temporary).replace(path)
        self.sync_dir_job(str(Path(path).parent))()

    def sync_dir_job(self, path: str) -> Job:
        return lambda: _sync_directory(path)

    def free_bytes(self, path: str) -> int:
        with _translated(path):
            status = os.statvfs(path)
        return status.f_bavail * status.f_frsize

    def total_bytes(self, path: str) -> int:
        with _translated(path):
            status = os.statvfs(path)
        return status.f_blocks * status.f_frsize

    def device(self, path: str) -> str:
        with _translated(path):
            return str(Path(path).stat().st_dev)

    def lock(self, path: str) -> Job:
        with _translated(path):
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(fd, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(fd)
            raise UserError(
                f"{Path(path).parent} is in use by another process (pid {holder})",
                "Stop that process, or give this one a data directory of its own.",
            ) from error
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        return lambda: os.close(fd)


def _sync_directory(path: str) -> None:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except FileNotFoundError:
        # The directory was removed since: no name is left in it to make durable.
        return
    except OSError as error:
        raise DiskFailed(f"{path}: {error.strerror}") from error
    try:
        full_sync(fd)
    except OSError as error:
        raise DiskFailed(f"{path}: {error.strerror}") from error
    finally:
        os.close(fd)


def _failure(error: OSError, path: str) -> DiskFull | DiskFailed:
    kind = DiskFull if error.errno in _FULL else DiskFailed
    return kind(f"{path}: {error.strerror}")


@contextlib.contextmanager
def _translated(path: str) -> Iterator[None]:
    """Turns a disk's errors into ours. A missing or forbidden path stays an OSError: a mistake, not the disk's failure."""
    try:
        yield
    except OSError as error:
        if error.errno in _FULL or error.errno in _BROKEN:
            raise _failure(error, path) from error
        raise
