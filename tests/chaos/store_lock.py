"""Who is in the midst of a write to the embedded metadata store: SQLite's lock tells its holder."""

import fcntl
from pathlib import Path
from struct import Struct

# struct flock of 64-bit Linux: type, whence, start, length, pid.
_FLOCK = Struct("hhqqi4x")
# Where a writer in WAL mode holds one byte of the shared-memory file.
_WRITER_BYTE = 120


def writers_to(folder: Path) -> set[int]:
    """The processes that hold a write lock on any database of this folder. Empty where there is none."""
    found = set()
    for path in folder.glob("*-shm"):
        with path.open("rb") as file:
            asked = _FLOCK.pack(fcntl.F_WRLCK, 0, _WRITER_BYTE, 1, 0)
            kind, _, _, _, pid = _FLOCK.unpack(fcntl.fcntl(file, fcntl.F_GETLK, asked))
            if kind != fcntl.F_UNLCK:
                found.add(pid)
    return found
