"""A segment file read offline, from the first batch to the last whole one, and its index held against it.

Reads only, opens no log and takes no lock: a broker may be writing the file meanwhile. So a batch cut by the end of the
file is a torn end and no damage, while a batch whose CRC is wrong, or a header that makes no sense, is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from headrace.log.index import SparseIndex, decode_index
from headrace.wire.batch import HEADER_SIZE, MAGIC, BatchHeader, CorruptBatch, crc_ok, parse_header


class StoredBatch(NamedTuple):
    position: int
    header: BatchHeader
    crc_ok: bool
    content: bytes


@dataclass
class SegmentFile:
    """After `batches` has run to its end, the counts and findings are those of the whole file."""

    path: Path
    batch_count: int = 0
    first_offset: int | None = None
    next_offset: int | None = None
    torn_bytes: int = 0
    damage: list[str] = field(default_factory=list)

    @property
    def base_offset(self) -> int:
        return int(self.path.stem)

    def batches(self) -> Iterator[StoredBatch]:
        size = self.path.stat().st_size
        position = 0
        with self.path.open("rb", buffering=1 << 20) as file:
            while position < size:
                try:
                    header = parse_header(head := file.read(HEADER_SIZE))
                except CorruptBatch as error:
                    self._on_unreadable(position, size, str(error))
                    return
                if header.magic != MAGIC:
                    self._on_unreadable(position, size, f"magic is {header.magic}")
                    return
                if header.size > size - position:
                    self.torn_bytes = size - position
                    return
                content = head + file.read(header.size - HEADER_SIZE)
                batch = StoredBatch(position, header, crc_ok(content, 0, header.size), content)
                self._on_batch(batch)
                yield batch
                position += header.size

    def _on_batch(self, batch: StoredBatch) -> None:
        expected = self.base_offset if self.next_offset is None else self.next_offset
        if not batch.crc_ok:
            self.damage.append(f"wrong CRC at position {batch.position}")
        if batch.header.base_offset < expected:
            self.damage.append(f"offset {batch.header.base_offset} at position {batch.position} is below {expected}")
        if self.first_offset is None:
            self.first_offset = batch.header.base_offset
        self.next_offset = batch.header.next_offset
        self.batch_count += 1

    def _on_unreadable(self, position: int, size: int, why: str) -> None:
        if size - position < HEADER_SIZE:
            self.torn_bytes = size - position
        else:
            self.damage.append(f"no batch at position {position}, {size - position} bytes before the end: {why}")


class IndexCheck:
    """Fed with every batch of the segment, knows at the end whether each index entry points at the batch it names."""

    def __init__(self, segment: SegmentFile) -> None:
        self.segment = segment
        self.verdict = ""
        self.damage: list[str] = []
        self._row = 0
        self._index = self._load()

    def _load(self) -> SparseIndex | None:
        path = self.segment.path.with_suffix(".index")
        if not path.exists():
            self.verdict = "no index file (an active segment has none)"
            return None
        loaded = decode_index(path.read_bytes())
        if loaded is None:
            self.verdict = "damaged (the broker builds it again)"
            return None
        summary, index = loaded
        if (summary.base_offset, summary.log_bytes) != (self.segment.base_offset, self.segment.path.stat().st_size):
            self.verdict = "of another state of the log file (the broker builds it again)"
            return None
        return index

    def on_batch(self, batch: StoredBatch) -> None:
        index = self._index
        if index is None or self._row >= len(index) or index.positions[self._row] > batch.position:
            return
        relative = batch.header.base_offset - self.segment.base_offset
        if (index.positions[self._row], index.offsets[self._row]) != (batch.position, relative):
            self.damage.append(f"index entry {self._row} points at no batch")
        self._row += 1

    def finish(self) -> str:
        if self._index is None:
            return self.verdict
        if self._row < len(self._index):
            self.damage.append(f"index has {len(self._index) - self._row} entries past the last batch")
        return "; ".join(self.damage) or f"ok, {len(self._index)} entries"
