"""A partition of 1 TB in 1,000 segments, made of sparse files: what opening, seeking and retiring touch."""

from pathlib import Path

import pytest
from logs import NOW, batch, header

from headrace.base.disk import RealDisk, RealFile
from headrace.log import FilePool, Log, LogConfig, open_log
from headrace.log.index import IndexSummary, SparseIndex, encode_index
from headrace.log.retention import start_by_size, start_by_time
from headrace.log.state import LogState

SEGMENTS = 1000
SEGMENT_BYTES = 1 << 30
STEP = 1000


class CountingDisk(RealDisk):
    """The real disk, and how often it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = 0
        self.reads = 0
        self.bytes_read = 0

    def open(self, path: str, create: bool = False) -> "CountingFile":
        self.opened += 1
        file = super().open(path, create)
        return CountingFile(self, file.fileno() or 0, path)

    def read(self, path: str) -> bytes:
        content = super().read(path)
        self.opened += 1
        self.bytes_read += len(content)
        return content


class CountingFile(RealFile):
    __slots__ = ("_disk",)

    def __init__(self, disk: CountingDisk, fd: int, path: str) -> None:
        super().__init__(fd, path)
        self._disk = disk

    def pread(self, length: int, position: int) -> bytes:
        content = super().pread(length, position)
        self._disk.reads += 1
        self._disk.bytes_read += len(content)
        return content


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Each segment: one batch at its start, one in the midst, one long one to its end; a byte in a million is there."""
    made = tmp_path / "orders-0"
    made.mkdir()
    for number in range(SEGMENTS):
        base = number * STEP
        first, second = batch(base, 10, timestamps=[number] * 10), batch(base + 10, timestamps=[number])
        index = SparseIndex()
        index.add(10, len(first), number)
        index.add(11, len(first) + len(second), number)
        with (made / f"{base:020d}.log").open("wb") as file:
            file.write(first + second + long_batch(base + 11, SEGMENT_BYTES - len(first) - len(second)))
            file.truncate(SEGMENT_BYTES)
        summary = IndexSummary(base, SEGMENT_BYTES, base + STEP, number, 0, len(index))
        (made / f"{base:020d}.index").write_bytes(encode_index(index, summary))
    # As a clean stop leaves one; without it the headers of the whole log would be read.
    end = SEGMENTS * STEP
    (made / f"{end:020d}.snapshot").write_bytes(LogState().encode(end))
    return made


def long_batch(base_offset: int, size: int) -> bytes:
    """The header of a batch that fills the segment up to the next one's base."""
    whole = bytearray(batch(base_offset)[:61])
    whole[8:12] = (size - 12).to_bytes(4, "big")
    whole[23:27] = (STEP - 12).to_bytes(4, "big")
    return bytes(whole)


def opened(directory: Path) -> tuple[CountingDisk, FilePool, Log]:
    disk = CountingDisk()
    pool = FilePool(disk, open_max=50)
    log, report = open_log(
        pool, str(directory), LogConfig(), NOW, recovery_point=SEGMENTS * STEP, clean=True, start_offset=0
    )
    assert report.scanned_bytes == 0
    return disk, pool, log


def test_opening_touches_only_the_last_segment(directory: Path) -> None:
    disk, pool, log = opened(directory)
    assert log.segments.size_bytes == SEGMENTS * SEGMENT_BYTES
    assert len(log.segments.all) == SEGMENTS
    assert (log.start_offset, log.end_offset) == (0, SEGMENTS * STEP)
    assert disk.opened <= 5
    assert disk.bytes_read < 20_000
    close(pool, log)


def test_a_seek_opens_one_segment(directory: Path) -> None:
    disk, pool, log = opened(directory)
    for number in range(0, SEGMENTS, 10):
        before = disk.opened, disk.bytes_read
        found = log.reader.read(number * STEP + 5, 100, log.end_offset)
        assert found is not None
        assert header(found.read()).base_offset == number * STEP
        found.release()
        assert disk.opened - before[0] <= 2
        assert disk.bytes_read - before[1] < 20_000
    assert len(pool) <= 50
    assert len(pool.indexes) <= SEGMENTS // 10 + 1
    close(pool, log)


def test_time_and_size_look_at_summaries(directory: Path) -> None:
    disk, pool, log = opened(directory)
    assert start_by_time(log.segments.all, 100, 400) == 300 * STEP
    assert disk.opened < 310
    assert start_by_size(log.segments.all, 10 * SEGMENT_BYTES) == (SEGMENTS - 10) * STEP
    assert disk.bytes_read < 200_000
    assert log.reader.find_by_time(700, log.start_offset) == (700 * STEP, 700)
    close(pool, log)


def test_retiring_renames_and_opens_nothing(directory: Path) -> None:
    disk, pool, log = opened(directory)
    before = disk.opened, disk.bytes_read
    log.advance_start(400 * STEP + 3)
    retired = log.retire_segments(log.start_offset)
    assert len(retired) == 400
    assert len(log.segments.all) == SEGMENTS - 400
    assert (disk.opened, disk.bytes_read) == before
    for path in retired:
        disk.unlink(path)
    close(pool, log)


def close(pool: FilePool, log: Log) -> None:
    log.close()
    assert len(pool) == 0
