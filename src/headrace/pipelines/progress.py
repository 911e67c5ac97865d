"""The one line a running job shows: batch, rows, rows a second, lag. On a terminal it replaces itself.

Also where a job's time is measured, so that the line, the report and `--json` say the same.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import NamedTuple


class Progress(NamedTuple):
    pipeline: str
    batch: int
    rows: int
    """Of this batch."""
    rows_total: int
    rows_per_second: float
    lag: int
    """Offsets that are still to be read."""


Listener = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """For callers of a function who want its report and nothing meanwhile."""


class Clock:
    """Counts batches and rows against the time since it was made."""

    def __init__(self, pipeline: str, listener: Listener) -> None:
        self.pipeline, self._listener = pipeline, listener
        self.started = self._last = time.monotonic()
        self.batches = self.rows = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def rows_per_second(self) -> float:
        return self.rows / max(self.seconds, 1e-9)

    def on_batch(self, rows: int, lag: int) -> None:
        now = time.monotonic()
        self.batches += 1
        self.rows += rows
        rate = rows / max(now - self._last, 1e-9)
        self._last = now
        self._listener(Progress(self.pipeline, self.batches, rows, self.rows, rate, lag))

    def on_idle(self) -> None:
        """Waiting for records is no part of the next batch's time."""
        self._last = time.monotonic()


def show(progress: Progress) -> None:
    """For people, on stderr."""
    line = (
        f"{progress.pipeline}: batch {progress.batch}, {progress.rows_total:,} rows, "
        f"{progress.rows_per_second:,.0f} rows/s, lag {progress.lag:,}"
    )
    if sys.stderr.isatty():
        print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
    else:
        print(line, file=sys.stderr, flush=True)


def show_json(progress: Progress) -> None:
    """For programs, on stderr: stdout has the report alone."""
    fields = progress._asdict() | {"rows_per_second": round(progress.rows_per_second)}
    print(json.dumps(fields), file=sys.stderr, flush=True)
