"""Compaction of one log: sealed segments in, fewer and smaller ones out, each finished before the next is begun.

    pass 1   the dirty part, newest record of every key into a map, as far as its memory reaches
    pass 2   all of it, group by group: only records that the map knows nothing newer of are written again

Offsets, order and batch boundaries stay. What other parts of a log rest on stays too, if need be as a batch without
records: the first batch of each leader epoch, the last of each live producer, and the last of every group, so that one
segment still ends where the next begins and a missing one can be told from a cleaned one.

Reads and writes through the disk port, and decides nothing about when; runs where it may take its time.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from headrace.base.disk import Disk, File
from headrace.base.errors import DiskFull
from headrace.log.clean_batch import CleanRules, clean, emptied, keys_of
from headrace.log.clean_job import CleanJob, CleanReport, SealedSegment
from headrace.log.clean_transactions import AbortedReader, CleanedMarkers
from headrace.log.key_offsets import KeyOffsets, bytes_for
from headrace.log.pool import FilePool
from headrace.log.segment import RELATIVE_OFFSET_MAX, Segment, log_path
from headrace.log.swap import CleanedGroup
from headrace.log.swap_files import CLEANED, cleaned_path
from headrace.log.walk import walk
from headrace.wire.batch import DELETE_HORIZON, HEADER_SIZE, BatchHeader, CorruptBatch, crc_ok, parse_header

_READ_BYTES = 4 << 20
_WRITE_BYTES = 1 << 20
_LATER = 1 << 62

Pace = Callable[[int], None]
"""A call for bytes read or written, which may take its time."""


def clean_log(disk: Disk, job: CleanJob, secret: bytes, pace: Pace) -> Iterator[CleanedGroup | CleanReport]:
    """Yields each finished group, then the report. Groups are on disk, under a name that a restart sweeps away."""
    dirty = [segment for segment in job.segments if segment.next_offset > job.first_dirty_offset]
    found = _map(disk, job, dirty, secret, pace)
    rules = CleanRules(
        found.newest,
        found.mapped_end,
        job.start_offset,
        job.now_ms,
        job.delete_retention_ms,
        job.may_forget,
        job.codec,
    )
    pass_two = _Rewriting(disk, job, rules, CleanedMarkers(found.markers, frozenset(job.producers)), pace)
    for group in groups(_up_to(job.segments, found.mapped_end), job.segment_bytes):
        yield pass_two.rewrite(group)
    yield CleanReport(
        found.mapped_end, pass_two.bytes_read, pass_two.bytes_written, found.newest.keys, pass_two.horizon
    )


def _up_to(segments: list[SealedSegment], end_offset: int) -> list[SealedSegment]:
    return [segment for segment in segments if segment.base_offset < end_offset]


def groups(segments: list[SealedSegment], segment_bytes: int) -> list[list[SealedSegment]]:
    """Groups of neighbours that fit into one segment, so that cleaned logs do not end as a thousand small files."""
    made: list[list[SealedSegment]] = []
    for segment in segments:
        last = made[-1] if made else None
        if (
            last is not None
            and sum(each.size for each in last) + segment.size <= segment_bytes
            and segment.next_offset - last[0].base_offset <= RELATIVE_OFFSET_MAX
        ):
            last.append(segment)
        else:
            made.append([segment])
    return made


# Pass 1


class Mapped(NamedTuple):
    newest: KeyOffsets
    mapped_end: int
    markers: dict[int, int]
    """Producer id → its last marker."""


def _map(disk: Disk, job: CleanJob, dirty: list[SealedSegment], secret: bytes, pace: Pace) -> Mapped:
    """The newest offset of each key, and up to where: the first batch that may not fit is left for the next time."""
    counts = [count for segment in dirty for count in _record_counts(disk, job.directory, segment)]
    # Less would do for few records, and a batch that alone is too much for the setting must not stop it for ever.
    memory_bytes = max(min(job.memory_bytes, bytes_for(sum(counts))), bytes_for(max(counts, default=0)))
    newest = KeyOffsets(memory_bytes, secret)
    aborted = AbortedReader(job.aborted_dirty)
    mapped_end = job.first_dirty_offset
    markers: dict[int, int] = {}
    for segment in dirty:
        for header, batch in batches(disk, job.directory, segment, pace):
            if not newest.has_room_for(header.record_count):
                return Mapped(newest, mapped_end, markers)
            is_aborted = aborted.is_aborted(header, batch)
            if header.is_control:
                markers[header.producer_id] = header.base_offset
            if not is_aborted and header.next_offset > job.first_dirty_offset:
                for key, offset in keys_of(header, batch):
                    newest.put(key, offset)
            mapped_end = max(mapped_end, header.next_offset)
        mapped_end = max(mapped_end, segment.next_offset)
    return Mapped(newest, mapped_end, markers)


def _record_counts(disk: Disk, directory: str, segment: SealedSegment) -> Iterator[int]:
    file = disk.open(log_path(directory, segment.base_offset))
    try:
        for _, header in walk(file, 0, segment.size):
            yield header.record_count
    finally:
        file.close()


# Pass 2


class _Rewriting:
    def __init__(self, disk: Disk, job: CleanJob, rules: CleanRules, markers: CleanedMarkers, pace: Pace) -> None:
        self.bytes_read = 0
        self.bytes_written = 0
        self.horizon = _LATER
        self._disk = disk
        self._job = job
        self._rules = rules
        self._pace = pace
        self._aborted = AbortedReader(job.aborted)
        self._markers = markers
        self._last_batches = frozenset(job.last_batches)
        self._epoch = -1

    def rewrite(self, group: list[SealedSegment]) -> CleanedGroup:
        first, last = group[0], group[-1]
        self._check_room(sum(segment.size for segment in group))
        path = cleaned_path(self._job.directory, first.base_offset, last.next_offset, self._job.run)
        output = _Output(self._disk, path, first.base_offset, self._job.index_interval_bytes, self._pace)
        try:
            is_same = self._copy(group, output) and len(group) == 1
            if is_same:
                output.abandon()
                return CleanedGroup(first.base_offset, last.next_offset, first.size, "", "", is_same=True)
            index = output.finish()
        except BaseException:
            output.abandon()
            raise
        assert output.segment.next_offset == last.next_offset, (path, output.segment.next_offset)
        self.bytes_written += output.segment.size
        return CleanedGroup(first.base_offset, last.next_offset, output.segment.size, path, index, is_same=False)

    def _check_room(self, size: int) -> None:
        if self._disk.free_bytes(self._job.directory) - size < self._job.free_bytes_min:
            raise DiskFull(f"{self._job.directory}: no room for the {size} bytes that cleaning takes for a while")

    def _copy(self, group: list[SealedSegment], output: "_Output") -> bool:
        """Writes the records of a group that stay; returns whether that was every one."""
        is_same = True
        ends = group[-1].next_offset
        for segment in group:
            for header, batch in batches(self._disk, self._job.directory, segment, self._pace):
                left = self._what_is_left(header, batch, is_last=header.next_offset == ends)
                if left is batch:
                    output.write(header, batch)
                else:
                    is_same = is_same and left == batch
                    if left:
                        output.write(parse_header(left), left)
            self.bytes_read += segment.size
        return is_same

    def _what_is_left(self, header: BatchHeader, batch: bytes, is_last: bool) -> bytes:
        begins_epoch = header.leader_epoch > self._epoch
        self._epoch = max(self._epoch, header.leader_epoch)
        is_aborted = self._aborted.is_aborted(header, batch)
        if header.is_control:
            left = self._markers.what_is_left(header, batch, self._rules)
        else:
            left = clean(header, batch, self._rules, is_aborted)
            if left:
                self._markers.on_kept(header)
        if not left and (is_last or begins_epoch or header.base_offset in self._last_batches):
            left = emptied(header)
        if left:
            self._note_horizon(header, header if left is batch else parse_header(left))
        return left

    def _note_horizon(self, before: BatchHeader, after: BatchHeader) -> None:
        """Lowers `horizon` to that of a batch that still holds tombstones: past its horizon, it has lost them if it may."""
        if after.attributes & DELETE_HORIZON and after.record_count:
            is_new = not before.attributes & DELETE_HORIZON
            if is_new or not self._rules.is_over(after):
                self.horizon = min(self.horizon, after.base_timestamp)


class _Output:
    """The file that a group becomes, and its index, which grows beside it."""

    def __init__(self, disk: Disk, path: str, base_offset: int, index_interval_bytes: int, pace: Pace) -> None:
        self._disk = disk
        self._path = path
        self._index_path = f"{path.removesuffix(CLEANED)}.index{CLEANED}"
        self._pace = pace
        self._file: File = disk.open(path, create=True)
        self._file.truncate(0)
        self._waiting: list[bytes] = []
        self._waiting_bytes = 0
        self.segment = Segment(FilePool(disk), path, base_offset, 0, base_offset, index_interval_bytes)
        self.segment.begin_empty()

    def write(self, header: BatchHeader, batch: bytes) -> None:
        self.segment.add(header)
        self._waiting.append(batch)
        self._waiting_bytes += len(batch)
        if self._waiting_bytes >= _WRITE_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._file.append(b"".join(self._waiting))
        self._pace(self._waiting_bytes)
        self._waiting, self._waiting_bytes = [], 0

    def finish(self) -> str:
        """Syncs and closes the file. Returns the path of the index, which is a cache and need not be synced."""
        self._flush()
        self._file.sync_job()()
        self._file.close()
        self.segment.write_index(self._index_path).close()
        return self._index_path

    def abandon(self) -> None:
        self._file.close()
        self._disk.unlink(self._path)
        self._disk.unlink(self._index_path)


def batches(disk: Disk, directory: str, segment: SealedSegment, pace: Pace) -> Iterator[tuple[BatchHeader, bytes]]:
    """The batches of a segment. Raises unless each checksum fits and the offsets, which it does not cover, go on from
    those before: rotten bytes must not be given a new checksum."""
    path = log_path(directory, segment.base_offset)
    file = disk.open(path)
    try:
        position, window, start = 0, b"", 0
        next_offset = segment.base_offset
        while position < segment.size:
            at = position - start
            if at + HEADER_SIZE > len(window):
                window, start, at = file.pread(_READ_BYTES, position), position, 0
                pace(len(window))
            header = parse_header(window, at)
            if at + header.size > len(window):
                window, start, at = file.pread(max(_READ_BYTES, header.size), position), position, 0
                pace(len(window))
            is_in_place = next_offset <= header.base_offset <= header.last_offset < segment.next_offset
            if not is_in_place or not crc_ok(window, at, header.size):
                raise CorruptBatch(f"{path} at {position}: the batch is damaged")
            next_offset = header.next_offset
            yield header, window[at : at + header.size]
            position += header.size
    finally:
        file.close()
