"""The machine's own synced writes: how many MB a second, and how long a small one takes.

The rate is the ceiling of any broker that syncs before it acknowledges: four files grow side by side, each by one thread
that writes 1 MB and waits for fdatasync, as four durable partitions with 1 MB batches would. The system calls release the
GIL, so Python is not what is measured.
"""

import os
import threading
import time
from pathlib import Path

FILES = 4
WRITE_BYTES = 1_000_000
SMALL_WRITE_BYTES = 1_000


def synced_write_mb_per_s(folder: Path, seconds: float) -> float:
    folder.mkdir(parents=True, exist_ok=True)
    os.sync()
    block = os.urandom(WRITE_BYTES)
    written = [0] * FILES
    began = time.monotonic()

    def grow(number: int) -> None:
        descriptor = os.open(folder / f"synced-{number}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        while time.monotonic() - began < seconds:
            written[number] += os.write(descriptor, block)
            os.fdatasync(descriptor)
        os.close(descriptor)

    writers = [threading.Thread(target=grow, args=(number,)) for number in range(FILES)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    rate = sum(written) / (time.monotonic() - began) / 1e6
    for number in range(FILES):
        (folder / f"synced-{number}").unlink()
    return rate


def synced_write_p99_ms(folder: Path, seconds: float) -> float:
    """A small append and its fdatasync, one after the other."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "synced-small"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    took = []
    began = now = time.perf_counter()
    while now - began < seconds:
        os.write(descriptor, bytes(SMALL_WRITE_BYTES))
        os.fdatasync(descriptor)
        before, now = now, time.perf_counter()
        took.append(now - before)
    os.close(descriptor)
    path.unlink()
    return sorted(took)[int(len(took) * 0.99)] * 1000
