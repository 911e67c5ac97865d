"""Offsets of a source and of a target: runs of offsets that follow each other on both sides.

A source has gaps (transaction markers, what was compacted away), the target has gaps of its own between transactions; within
a run both go up by one. An offset in a gap of the source stands for the next record after it.
"""

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa

RUNS_PER_NOTE = 1_000


class OffsetRun(NamedTuple):
    source: int
    target: int
    rows: int


class OffsetRuns:
    """Collects the runs of one piece, whose rows lie in the target one after the other from `target` on."""

    def __init__(self, target: int) -> None:
        self.target_end = target
        self.runs: list[OffsetRun] = []

    def noted(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.add(batch.column("kafka_offset").to_numpy())
            yield batch

    def add(self, offsets: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> None:
        breaks = np.flatnonzero(np.diff(offsets) != 1) + 1
        for run in np.split(offsets, breaks):
            self._add(int(run[0]), len(run))

    def _add(self, source: int, count: int) -> None:
        last = self.runs[-1] if self.runs else None
        if last is not None and last.source + last.rows == source:
            self.runs[-1] = last._replace(rows=last.rows + count)
        else:
            self.runs.append(OffsetRun(source, self.target_end, count))
        self.target_end += count

    def notes(self, about: dict[str, str], runs_each: int = RUNS_PER_NOTE) -> dict[str, list[str]]:
        """Keys and values of records that say it, each key once for all time."""
        parts = [self.runs[i : i + runs_each] for i in range(0, len(self.runs), runs_each)]
        return {
            "key": [json.dumps({**about, "offset": part[0].source}) for part in parts],
            "value": [json.dumps(part) for part in parts],
        }


def runs_in(notes: Iterable[tuple[bytes, bytes]], about: dict[str, str]) -> list[OffsetRun]:
    """The runs that notes hold of one partition, in the order of its offsets."""
    runs = []
    for key, value in notes:
        said = json.loads(key)
        if all(said.get(name) == text for name, text in about.items()):
            runs += [OffsetRun(*run) for run in json.loads(value)]
    return sorted(runs)


def target_offset(runs: list[OffsetRun], source: int) -> int | None:
    """Where a reader that would go on at `source` goes on in the target; None before the first run."""
    index = bisect_right(runs, source, key=lambda run: run.source) - 1
    if index < 0:
        return runs[0].target if runs else None
    run = runs[index]
    if source < run.source + run.rows:
        return run.target + source - run.source
    return runs[index + 1].target if index + 1 < len(runs) else run.target + run.rows
