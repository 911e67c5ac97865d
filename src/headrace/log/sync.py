"""The part of a log that is proven to be on disk, and the files still to be synced.

    touch ─▶ [unsynced] ─▶ begin: ticket (target, files, jobs) ─▶ jobs off the loop ─▶ on_synced: synced_end = target

Invariant: everything below `synced_end` was in a file, and named in a directory, whose sync was begun after the write
and has succeeded. One ticket at a time: a later one that overtook it would vouch for files that only the first one
covers.
"""

from headrace.base.disk import Disk, File
from headrace.base.file_sync import Job


class SyncTicket:
    __slots__ = ("files", "jobs", "target", "truncations")

    def __init__(self, target: int, truncations: int, files: list[File], jobs: list[Job]) -> None:
        self.target = target
        self.truncations = truncations
        self.files = files
        self.jobs = jobs


class SyncState:
    __slots__ = ("_directories", "_disk", "_in_flight", "files", "has_sealed", "synced_end", "truncations")

    def __init__(self, disk: Disk, synced_end: int) -> None:
        self._disk = disk
        self.synced_end = synced_end
        self.truncations = 0
        self.has_sealed = False
        """Whether a segment was sealed since the last sync began: until it is synced, recovery takes longer."""
        self.files: dict[str, File] = {}
        self._directories: dict[str, None] = {}
        self._in_flight: SyncTicket | None = None

    def touch(self, file: File) -> None:
        """Notes that the file was written to. It stays open until synced: only open files are told of write-back errors."""
        known = self.files.get(file.path)
        if known is file:
            return
        if known is not None:
            known.unpin()
        file.pin()
        self.files[file.path] = file

    def touch_directory(self, path: str) -> None:
        self._directories[path] = None

    def forget(self, path: str) -> None:
        """Drops a file that is about to go: no bytes in it count any more."""
        file = self.files.pop(path, None)
        if file is not None:
            file.unpin()

    def is_due(self, end_offset: int, messages_max: int) -> bool:
        """Whether a relaxed topic is to sync now: so many messages are not on disk, or a segment was sealed."""
        return end_offset - self.synced_end >= messages_max or self.has_sealed

    def begin(self, target: int) -> SyncTicket | None:
        assert self._in_flight is None, "one sync at a time"
        self.has_sealed = False
        if not self.files and not self._directories:
            return None
        files = list(self.files.values())
        jobs = [file.sync_job() for file in files]
        jobs += [self._disk.sync_dir_job(path) for path in self._directories]
        self.files, self._directories = {}, {}
        assert target >= self.synced_end, (target, self.synced_end)
        self._in_flight = SyncTicket(target, self.truncations, files, jobs)
        return self._in_flight

    def on_synced(self, ticket: SyncTicket) -> int:
        self._end(ticket)
        assert ticket.truncations <= self.truncations, (ticket.truncations, self.truncations)
        # A truncation since then put other bytes, or none, below the target.
        if ticket.truncations == self.truncations and ticket.target > self.synced_end:
            self.synced_end = ticket.target
        return self.synced_end

    def on_truncated(self, end_offset: int) -> None:
        self.truncations += 1
        self.synced_end = min(self.synced_end, end_offset)

    def release(self) -> None:
        """Lets go of all open files, but those of a ticket still in flight: the log is closed."""
        for path in list(self.files):
            self.forget(path)
        self._directories = {}

    def _end(self, ticket: SyncTicket) -> None:
        assert ticket is self._in_flight, "not the ticket in flight"
        self._in_flight = None
        for file in ticket.files:
            file.unpin()
