"""Usage of the machine by a broker: CPU, memory, disk."""

from collections.abc import Iterator

from headrace.base import process
from headrace.base.disk import Disk
from headrace.base.exposition import Metric
from headrace.broker.disk.room import DiskRoom
from headrace.broker.disk.watch import DiskWatch


def process_metrics(disk: Disk, room: DiskRoom, watch: DiskWatch) -> Iterator[Metric]:
    for name, kind, help_text, value in (
        ("process_cpu_seconds_total", "counter", "CPU time, user and system.", process.cpu_seconds()),
        ("process_resident_bytes", "gauge", "Memory held now.", process.resident_bytes()),
        ("process_max_resident_bytes", "gauge", "The most memory held so far.", process.max_resident_bytes()),
        ("disk_free_bytes", "gauge", "Free on the disk of the logs.", disk.free_bytes(room.path)),
        ("disk_total_bytes", "gauge", "Size of the disk of the logs.", disk.total_bytes(room.path)),
        ("disk_reserve_bytes", "gauge", "With less than this free, writes are refused.", room.reserve_bytes),
        ("disk_hung", "gauge", "1 while the disk of the logs completes nothing.", int(watch.is_hung)),
    ):
        yield Metric(f"headrace_{name}", kind, help_text, [("", value)])
