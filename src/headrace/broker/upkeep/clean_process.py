"""Compaction in a process of its own, niced: started for one job, gone after it.

    stdin    the job, one line of JSON
    stdout   a line for each finished group, {"group": [...]}, and at the end {"report": [...]}
    stderr   why not

`CleanProcess` is the broker's side of it, and blocks, so it is for a thread: no CPU of a compaction may be spent where the
interpreter's lock would take it from the event loop. `python -m headrace.broker.upkeep.clean_process` is the other.
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Protocol

from headrace.base.disk import RealDisk
from headrace.base.errors import DiskFailed, DiskFull
from headrace.log.clean_job import CleanJob, CleanReport
from headrace.log.clean_log import clean_log
from headrace.log.swap import CleanedGroup
from headrace.wire.batch import CorruptBatch

_NICE = 10
_GRAIN_SECONDS = 0.01
# How soon one that is held down notices that its broker is gone.
_PARENT_SECONDS = 1.0
_REASON_BYTES_MAX = 2000


class CleaningFailed(Exception):
    """Nothing is lost: what was not swapped in is as it was."""


class Cleaning(Protocol):
    """One that runs."""

    def next(self) -> CleanedGroup | CleanReport:
        """Blocks. The report is the last; CleaningFailed when there is none."""

    def kill(self) -> None:
        """At once; whoever waits in `next` is told that it failed."""

    def end(self) -> None:
        """After `kill`, with nobody in `next`. Blocks until it is gone."""


class CleanProcess:
    def __init__(self, job: CleanJob) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(job.encode() + "\n")
            self._process.stdin.flush()

    @property
    def pid(self) -> int:
        return self._process.pid

    def next(self) -> CleanedGroup | CleanReport:
        assert self._process.stdout is not None
        try:
            line = json.loads(self._process.stdout.readline() or "{}")
        except ValueError:
            line = {}
        if "group" in line:
            return CleanedGroup(*line["group"])
        if "report" in line:
            return CleanReport(*line["report"])
        raise CleaningFailed(self._reason())

    def _reason(self) -> str:
        assert self._process.stderr is not None
        said = self._process.stderr.read(_REASON_BYTES_MAX).strip()
        return said or f"its process ended with {self._process.wait()}"

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()

    def end(self) -> None:
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


class _Pace:
    """Holds reading and writing down to a rate, and ends the process when its broker is gone."""

    def __init__(self, bytes_per_second: float) -> None:
        self._rate = bytes_per_second
        self._parent = os.getppid()
        self._due = time.monotonic()

    def __call__(self, count: int) -> None:
        self._due = max(self._due, time.monotonic()) + count / self._rate
        while True:
            if os.getppid() != self._parent:
                raise SystemExit(1)
            ahead = self._due - time.monotonic()
            if ahead < _GRAIN_SECONDS:
                return
            time.sleep(min(ahead, _PARENT_SECONDS))


def _lines(job: CleanJob) -> Iterator[dict[str, tuple[object, ...]]]:
    for each in clean_log(RealDisk(), job, os.urandom(32), _Pace(job.bytes_per_second)):
        yield {"group" if isinstance(each, CleanedGroup) else "report": tuple(each)}


def main() -> int:
    os.nice(_NICE)
    try:
        for line in _lines(CleanJob.decode(sys.stdin.readline())):
            print(json.dumps(line), flush=True)
    except (CorruptBatch, DiskFull, DiskFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
