"""Small text files whose first line begins with their name and version: `headrace-NAME VERSION`.

A newer version is told from rot: from version 2 on the first line ends with the CRC32C of all the rest, name and
version included. So a flipped bit of the version makes a damaged file, and no newer one.
"""

import re

from crc32c import crc32c

_HEAD = re.compile(rb"(headrace-[a-z-]+) (\d+)\b")
_CRC = re.compile(rb" crc32c=([0-9a-f]{8})$")


def newer_version(name: str, known: int, content: bytes) -> int | None:
    """The version of a sound file of this name, if it is newer than the known one; else None."""
    head, _, body = content.partition(b"\n")
    said, crc = _HEAD.match(head), _CRC.search(head)
    if not said or not crc or said[1] != name.encode() or int(said[2]) <= known:
        return None
    return int(said[2]) if int(crc[1], 16) == checksum(head[: crc.start()], body) else None


def checksum(head: bytes, body: bytes) -> int:
    """The checksum of a file of version 2 or later, over all but the part of its first line that states it."""
    return int(crc32c(body, crc32c(head)))
