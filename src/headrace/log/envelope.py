"""The wrapping of every file of ours that is not a log: magic, format version, length and CRC32C before the content.

Invariant: `unwrap` gives back exactly what `wrap` was given, or None; a caller that gets None rebuilds from the log. So
a torn, flipped or foreign file, or one of a later format, costs time and never truth.
"""

import struct

from crc32c import crc32c

from headrace.base.disk import Disk, File
from headrace.base.errors import DiskFull

_HEAD = struct.Struct(">4sHI")
_CRC = struct.Struct(">I")
OVERHEAD = _HEAD.size + _CRC.size


def wrap(magic: bytes, version: int, content: bytes) -> bytes:
    head = _HEAD.pack(magic, version, len(content))
    return b"".join((head, _CRC.pack(crc32c(content, crc32c(head))), content))


def unwrap(magic: bytes, version: int, wrapped: bytes) -> bytes | None:
    if len(wrapped) < OVERHEAD:
        return None
    head, content = wrapped[: _HEAD.size], wrapped[OVERHEAD:]
    if _HEAD.unpack(head) != (magic, version, len(content)):
        return None
    (crc,) = _CRC.unpack_from(wrapped, _HEAD.size)
    return content if crc32c(content, crc32c(head)) == crc else None


def write_cache(disk: Disk, path: str, wrapped: bytes) -> File:
    """Writes a file in place, unsynced, since a torn cache is as good as none. Raises DiskFull and leaves none."""
    file = disk.open(path, create=True)
    try:
        file.truncate(0)
        file.append(wrapped)
    except DiskFull:
        file.close()
        disk.unlink(path)
        raise
    return file
