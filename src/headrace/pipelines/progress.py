"""The one line a running job shows: batch, rows, rows a second, lag. On a terminal it replaces itself.

Also where a job's time is measured, so that the line, the report and `--json` say the same.
"""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple


class Progress(NamedTuple):
    pipeline: str
    batch: int
    rows: int
    """Rows of this batch."""
    rows_total: int
    rows_per_second: float
    lag: int
    """Offsets that are still to be read."""


Listener = Callable[[Progress], None]


def ignore(_: Progress) -> None:
    """Drops a report of progress: the default of callers who want the final report only."""


class ProgressClock:
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
        """Notes that the job waits for records, which is no part of the next batch's time."""
        self._last = time.monotonic()


@contextmanager
def one_line(as_json: bool) -> Iterator[Listener]:
    """Shows the line on stderr: stdout is for the report alone."""
    is_terminal = sys.stderr.isatty() and not as_json

    def show(progress: Progress) -> None:
        text = _json(progress) if as_json else _words(progress)
        print(f"\r\x1b[2K{text}" if is_terminal else text, end="" if is_terminal else "\n", file=sys.stderr, flush=True)

    try:
        yield show
    finally:
        if is_terminal:
            print(file=sys.stderr)


def _words(progress: Progress) -> str:
    return (
        f"{progress.pipeline}: batch {progress.batch}, {progress.rows_total:,} rows, "
        f"{progress.rows_per_second:,.0f} rows/s, lag {progress.lag:,}"
    )


def _json(progress: Progress) -> str:
    return json.dumps(progress._asdict() | {"rows_per_second": round(progress.rows_per_second)})
