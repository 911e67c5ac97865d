"""Copies the batches of one partition into files, as its leader has them: markers and aborted transactions too.

What an earlier backup has is not copied again, as long as the log still has the last batch of it: then all before is the
same too. A compacted topic is copied whole, since compaction takes records away anywhere, tombstones among them.
"""

import asyncio
import time
from typing import Final

from headrace.backup.folder import BatchFile, Folder, last_batch
from headrace.backup.manifest import SavedFile, SavedPartition
from headrace.backup.moment import Bounds
from headrace.backup.tally import Tally
from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, AbortedRecords, ClusterClient, Fetched
from headrace.wire.batch import BatchHeader, CorruptBatch, crc_ok, iter_headers, parse_header
from headrace.wire.codes import ErrorCode

BACKUP_FILE_BYTES: Final = 256 << 20
FETCH_BYTES: Final = 8 << 20
# A new leader may not know at once how far its log counts.
SILENT_SECONDS_MAX: Final = 60.0


class PartitionCopy:
    def __init__(self, client: ClusterClient, folder: Folder, id: TopicPartition, topic_id: str, tally: Tally) -> None:
        self._client = client
        self._folder = folder
        self._id = id
        self._prefix = f"data/{topic_id}/{id.partition}"
        self._tally = tally
        self._file: BatchFile | None = None
        self._aborted: dict[AbortedRecords, None] = {}
        self._position = 0
        self._done: list[SavedFile] = []

    async def run(self, bounds: Bounds, known: SavedPartition | None) -> SavedPartition:
        """`known` is what an earlier backup of this topic has, if it may be gone on with."""
        start = bounds.start
        if known is not None and await self._goes_on(known, start):
            self._done = [file for file in known.files if file.next > start]
        self._position = self._done[-1].next if self._done else start
        self._tally.add(offsets=min(self._position, bounds.end) - start)
        try:
            while not await self._copy_to(bounds.end):
                # Retention has overtaken us: what was copied in this run is gone from the cluster.
                start = await self._begin_anew()
            self._seal()
        except BaseException:
            self._abandon()
            raise
        return SavedPartition(start, bounds.end, tuple(self._done))

    async def _copy_to(self, end: int) -> bool:
        """False when the log begins behind our position by now."""
        heard_at = time.monotonic()
        while self._position < end:
            try:
                fetched = await self._client.fetch(self._id, self._position, bytes_max=FETCH_BYTES)
            except Refused as refusal:
                if refusal.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    return False
                raise
            before = self._position
            await asyncio.to_thread(self._take, fetched, end)
            if self._position > before:
                heard_at = time.monotonic()
            elif fetched.last_stable_offset >= end:
                # All up to the end was compacted away.
                return True
            elif time.monotonic() - heard_at > SILENT_SECONDS_MAX:
                raise UserError(
                    f"{self._id} now ends at offset {fetched.last_stable_offset}, and ended at {end}",
                    "an unclean election took records away: make the backup again",
                )
        return True

    def _take(self, fetched: Fetched, end: int) -> None:
        """Checks batches and writes them to the file; called in a thread, as it keeps processor and disk busy."""
        data = fetched.batches
        first = stop = 0
        try:
            for position, header in iter_headers(data):
                batch = data[position : position + header.size]
                if header.base_offset >= end:
                    break
                if header.next_offset <= self._position and position == stop:
                    first = stop = position + header.size
                    continue
                self._check(batch, header)
                stop = position + header.size
                self._tally.add(offsets=min(header.next_offset, end) - self._position)
                self._position = header.next_offset
        except CorruptBatch as error:
            raise self._damaged(str(error)) from error
        if stop > first:
            self._write(data[first:stop], fetched.aborted)

    def _check(self, batch: memoryview, header: BatchHeader) -> None:
        if not crc_ok(batch, 0, header.size):
            raise self._damaged("its checksum does not fit")
        if header.next_offset <= self._position:
            raise self._damaged(f"it claims offsets up to {header.last_offset}, which came before")

    def _write(self, data: memoryview, aborted: tuple[AbortedRecords, ...]) -> None:
        if self._file is None:
            begins = parse_header(data).base_offset
            self._file = BatchFile(self._folder, self._prefix, begins)
        self._file.add(data)
        self._aborted.update(dict.fromkeys(aborted))
        self._tally.add(bytes=len(data))
        if self._file.bytes >= BACKUP_FILE_BYTES:
            self._seal()

    def _seal(self) -> None:
        if self._file is not None:
            sealed = self._file.seal(self._position)
            self._done.append(sealed._replace(aborted=tuple(self._aborted)))
        self._file, self._aborted = None, {}

    def _abandon(self) -> None:
        if self._file is not None:
            self._file.abandon()

    async def _begin_anew(self) -> int:
        self._abandon()
        self._file, self._aborted, self._done = None, {}, []
        self._position = (await self._client.offsets({self._id: EARLIEST}))[self._id].offset
        return self._position

    def _damaged(self, how: str) -> UserError:
        return UserError(
            f"{self._id}: the batch at offset {self._position} is damaged: {how}",
            "`headrace log dump` on its leader looks closer; let another replica lead, then make the backup again",
        )

    # -- going on from an earlier backup -------------------------------------------------------------------------------

    async def _goes_on(self, known: SavedPartition, start: int) -> bool:
        """Whether the log still has the last batch that the earlier backup has."""
        if not known.files:
            return False
        try:
            self._folder.check(known.files[-1], whole=False)
            header, content = await asyncio.to_thread(last_batch, self._folder.path_of(known.files[-1].name))
            if header.base_offset < start:
                return False
            fetched = await self._client.fetch(self._id, header.base_offset, bytes_max=header.size)
        except (Refused, UserError, CorruptBatch):
            return False
        return bytes(fetched.batches[: header.size]) == content
