"""The latest revision of the metadata store that this broker went by, kept in its data directory.

    DATA/metadata-revision        written with the checkpoints, when it has changed

At the next start it tells a store that was restored from an older copy: in-sync sets and leader epochs may be older than
the logs then. What a broker saw in the last seconds before a crash may not be written down.
"""

import logging

from headrace.base.disk import Disk
from headrace.broker.disk_watch import DiskWatch

logger = logging.getLogger("headrace.metadata")


class SeenRevision:
    def __init__(self, disk: Disk, path: str, watch: DiskWatch) -> None:
        self.store_went_back = False
        """Since then nobody has registered here: leader epochs that the store gives next may have been used before."""
        self._disk = disk
        self._path = f"{path}/metadata-revision"
        self._watch = watch
        self._written = self._read()

    def _read(self) -> int:
        """Nothing, if it cannot be read: it is a warning that is lost then, not a record."""
        text = self._disk.read(self._path) if self._disk.exists(self._path) else b""
        return int(text) if text.isdigit() else 0

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
            await self._watch.in_thread(self._disk.write_atomic, self._path, str(revision).encode())
            self._written = revision
