"""What the process takes of its machine: CPU, memory, disk."""

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.base.exposition import Metric

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

_RESIDENT = 1
"""Its place in statm, which counts pages."""


def process_metrics(broker: "Broker") -> Iterator[Metric]:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    room = broker.disk_room
    for name, kind, help_text, value in (
        ("process_cpu_seconds_total", "counter", "CPU time, user and system.", usage.ru_utime + usage.ru_stime),
        ("process_resident_bytes", "gauge", "Memory held now.", _resident_bytes() or usage.ru_maxrss * 1024),
        ("process_max_resident_bytes", "gauge", "The most memory held so far.", usage.ru_maxrss * 1024),
        ("disk_free_bytes", "gauge", "Free on the disk of the logs.", broker.disk.free_bytes(room.path)),
        ("disk_total_bytes", "gauge", "Size of the disk of the logs.", broker.disk.total_bytes(room.path)),
        ("disk_reserve_bytes", "gauge", "With less than this free, writes are refused.", room.reserve_bytes),
    ):
        yield Metric(f"headrace_{name}", kind, help_text, [("", value)])


def _resident_bytes() -> int | None:
    try:
        pages = Path("/proc/self/statm").read_text().split()[_RESIDENT]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
