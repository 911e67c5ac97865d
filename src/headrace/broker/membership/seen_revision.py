"""The latest revision of the metadata store that this broker went by, kept in its data directory.

    DATA/metadata-revision        format and revision; written with the checkpoints, when it has changed

At the next start it tells a store that was restored from an older copy: in-sync sets and leader epochs may be older than
the logs then. What a broker saw in the last seconds before a crash may not be written down.
"""

import logging
import re
from typing import Final

from headrace.base.disk import Disk
from headrace.base.headed_text import newer_version
from headrace.base.other_format import other_format
from headrace.broker.disk.watch import DiskWatch

logger = logging.getLogger("headrace.metadata")

VERSION: Final = 1
_NAME: Final = "headrace-metadata-revision"
_CONTENT: Final = re.compile(rf"{_NAME} {VERSION} (\d+)\n".encode())


class SeenRevision:
    def __init__(self, disk: Disk, path: str, watch: DiskWatch) -> None:
        self.store_went_back = False
        """Whether the store was set back and no broker has registered since: leader epochs that it gives next may be
        used ones.
        """
        self._disk = disk
        self._path = f"{path}/metadata-revision"
        self._watch = watch
        self._written = self._read()

    def _read(self) -> int:
        """Nothing, if it cannot be read: it is a warning that is lost then, not a record."""
        content = self._disk.read(self._path) if self._disk.exists(self._path) else b""
        if newer := newer_version(_NAME, VERSION, content):
            raise other_format(self._path, newer, VERSION)
        sound = _CONTENT.fullmatch(content)
        return int(sound[1]) if sound else 0

    def compare(self, revision: int) -> None:
        """With the store as it is at the start."""
        if revision >= self._written:
            return
        self.store_went_back = True
        logger.error(
            "the metadata store is at revision %(revision)d, and this broker has seen %(seen_revision)d: it was restored "
            "from an older copy. "
            "Replicas that were in sync then count as in sync now, and records acknowledged since are lost where one "
            "without them leads. If some brokers had been down, stop all and start those that were in sync last first: "
            "docs/etcd.md, Restoring",
            {"revision": revision, "seen_revision": self._written},
        )

    def on_registered(self) -> None:
        self.store_went_back = False

    async def save(self, revision: int) -> None:
        """Raises DiskFull."""
        if revision != self._written:
            content = f"{_NAME} {VERSION} {revision}\n".encode()
            await self._watch.in_thread(self._disk.write_atomic, self._path, content)
            self._written = revision
