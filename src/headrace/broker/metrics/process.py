"""What a broker takes of its machine: CPU, memory, disk."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from headrace.base import process
from headrace.base.exposition import Metric

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


def process_metrics(broker: "Broker") -> Iterator[Metric]:
    disk, room = broker.disk, broker.disk_room
    for name, kind, help_text, value in (
        ("process_cpu_seconds_total", "counter", "CPU time, user and system.", process.cpu_seconds()),
        ("process_resident_bytes", "gauge", "Memory held now.", process.resident_bytes()),
        ("process_max_resident_bytes", "gauge", "The most memory held so far.", process.max_resident_bytes()),
        ("disk_free_bytes", "gauge", "Free on the disk of the logs.", disk.free_bytes(room.path)),
        ("disk_total_bytes", "gauge", "Size of the disk of the logs.", disk.total_bytes(room.path)),
        ("disk_reserve_bytes", "gauge", "With less than this free, writes are refused.", room.reserve_bytes),
        ("disk_hung", "gauge", "1 while the disk of the logs completes nothing.", int(broker.disk_watch.is_hung)),
    ):
        yield Metric(f"headrace_{name}", kind, help_text, [("", value)])
