"""A broker's data directory: whose it is, that nobody else uses it, and how the last run ended.

lock       held while a broker runs on it
broker     format, cluster, broker and directory id: a directory is never used for another of them. The format is that of
           the whole directory: names of files and folders, log segments, and what has no format of its own
clean      its format, written by the last step of a clean stop, taken away by the first step of a start
"""

import json
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from headrace.base.disk import Disk
from headrace.base.errors import UserError
from headrace.base.file_sync import Job
from headrace.base.other_format import other_format

FORMAT_VERSION = 1
_CLEAN = b"1"
_OTHER_DIRECTORY = "Give this broker a data directory of its own (--data), or start the broker this one belongs to."


class DataDirectory:
    def __init__(self, disk: Disk, path: str) -> None:
        self.id = ""
        self._disk = disk
        self._path = path

    def lock(self) -> Job:
        self._make()
        return self._disk.lock(f"{self._path}/lock")

    def _make(self) -> None:
        """Durably, with its parents: a power cut must not take away the name of all that was acknowledged."""
        parents = [_parent(self._path)]
        while not self._disk.exists(parents[-1]):
            parents.append(_parent(parents[-1]))
        self._disk.mkdir(self._path)
        for parent in parents:
            self._disk.sync_dir_job(parent)()

    def claim(self, cluster_id: str, broker_id: int, new_id: Callable[[], str]) -> None:
        """Make it this broker's, or find that it is; `id` is known from here on."""
        marker = f"{self._path}/broker"
        if not self._disk.exists(marker):
            self.id = new_id()
            mine = {"v": FORMAT_VERSION, "cluster": cluster_id, "broker": broker_id, "directory": self.id}
            self._disk.write_atomic(marker, json.dumps(mine).encode())
            return
        owner = self._read(marker)
        if owner["v"] != FORMAT_VERSION:
            raise other_format(self._path, owner["v"], FORMAT_VERSION)
        if owner["cluster"] != cluster_id:
            raise UserError(
                f"{self._path} belongs to cluster {owner['cluster']}, the metadata store to {cluster_id}",
                _OTHER_DIRECTORY,
            )
        if owner["broker"] != broker_id:
            raise UserError(f"{self._path} belongs to broker {owner['broker']}, not {broker_id}", _OTHER_DIRECTORY)
        self.id = owner["directory"]

    def _read(self, marker: str) -> dict[str, Any]:
        try:
            owner = json.loads(self._disk.read(marker))
            owner["v"], owner["cluster"], owner["broker"], owner["directory"]
        except (ValueError, KeyError, TypeError):
            fix = (
                "Put a copy of it back. Without one, start a broker with another --id and an empty directory, and let "
                "`headrace cluster replace` fill it; where no other replica is left: `headrace backup restore`."
            )
            raise UserError(f"{marker} is damaged", fix) from None
        return dict(owner)

    def take_clean_mark(self) -> bool:
        """Whether the last run ended cleanly. The mark is gone before anything is written, so a crash leaves none."""
        mark = f"{self._path}/clean"
        # One of another format says what we cannot know: the logs are read, then.
        was_clean = self._disk.exists(mark) and self._disk.read(mark) == _CLEAN
        self._disk.unlink(mark)
        self._disk.sync_dir_job(self._path)()
        return was_clean

    def leave_clean_mark(self) -> None:
        self._disk.write_atomic(f"{self._path}/clean", _CLEAN)


def _parent(path: str) -> str:
    return str(PurePath(path).parent)
