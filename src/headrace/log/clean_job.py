"""The order for a compaction and its report: plain values, since they go to another process and back as JSON."""

import json
from typing import Any, NamedTuple


class SealedSegment(NamedTuple):
    base_offset: int
    next_offset: int
    size: int


class CleanJob(NamedTuple):
    directory: str
    segments: list[SealedSegment]
    """Sealed ones in a row, from the start of the log to where it may be cleaned."""
    first_dirty_offset: int
    """The first offset that was not cleaned before."""
    start_offset: int
    last_batches: list[int]
    """Base offsets of the batches that hold a live producer's last sequence."""
    producers: list[int]
    """The ids of live producers."""
    aborted: list[tuple[int, int]]
    """(producer id, first offset) of the aborted transactions in these segments."""
    aborted_dirty: list[tuple[int, int]]
    """The same for those that reach into the dirty part."""
    now_ms: int
    delete_retention_ms: int
    may_forget: bool
    """Whether tombstones and markers whose time is over may go; a replica that is away may not have them yet."""
    codec: int
    segment_bytes: int
    index_interval_bytes: int
    memory_bytes: int
    bytes_per_second: float
    free_bytes_min: int
    """So much of the disk is left free, whatever it takes to clean."""
    run: str

    def encode(self) -> str:
        return json.dumps(self._asdict())

    @classmethod
    def decode(cls, text: str) -> "CleanJob":
        fields: dict[str, Any] = json.loads(text)
        fields["segments"] = [SealedSegment(*segment) for segment in fields["segments"]]
        for name in ("aborted", "aborted_dirty"):
            fields[name] = [tuple(each) for each in fields[name]]
        return cls(**fields)


class CleanReport(NamedTuple):
    cleaned_to: int
    bytes_read: int
    bytes_written: int
    keys: int
    horizon: int
    """When the first of the tombstones that are left may go; far in the future when there is none."""
