"""Counts of partitions, summed by topic: the size of a scrape follows the number of topics, not of partitions.

Whoever wants the partitions of one topic asks for them: `/metrics/partitions?topic=NAME`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from headrace.base.exposition import Metric, labels_of
from headrace.partition.partition import Partition

_COLUMNS = (
    ("records_in_total", "Records appended by producers."),
    ("bytes_in_total", "Bytes appended by producers."),
    ("records_out_total", "Records read by consumers, counted by their offsets."),
    ("bytes_out_total", "Bytes read by consumers."),
    ("copied_in_bytes_total", "Bytes copied from leaders."),
    ("copied_out_bytes_total", "Bytes read by followers."),
    ("log_bytes", "Bytes on disk."),
    ("segments", "Segments on disk."),
    ("partitions", "Partitions on this broker."),
    ("leaders", "Partitions that this broker leads."),
)
_LED_COLUMNS = (
    ("isr_size_min", "In-sync replicas of the partition that has fewest, of those led here."),
    ("under_replicated", "Partitions led here that lack an in-sync replica."),
    ("under_min_isr", "Partitions led here that refuse acks=all for lack of in-sync replicas."),
    ("replica_lag_records", "Records that the furthest follower lacks."),
    ("replica_lag_seconds", "For how long the furthest follower has been behind."),
)


@dataclass(slots=True)
class TopicRow:
    """The fields are the columns, by their names."""

    records_in_total: int = 0
    bytes_in_total: int = 0
    records_out_total: int = 0
    bytes_out_total: int = 0
    copied_in_bytes_total: int = 0
    copied_out_bytes_total: int = 0
    log_bytes: int = 0
    segments: int = 0
    partitions: int = 0
    leaders: int = 0
    isr_size_min: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0
    replica_lag_records: int = 0
    replica_lag_seconds: float = 0.0

    def add(self, partition: Partition, now: float) -> None:
        self.records_in_total += partition.appends.records_in
        self.bytes_in_total += partition.appends.bytes_in
        self.records_out_total += partition.reads.records_out
        self.bytes_out_total += partition.reads.bytes_out
        self.copied_in_bytes_total += partition.following.bytes_copied_in
        self.copied_out_bytes_total += partition.reads.bytes_copied_out
        self.log_bytes += partition.log.segments.size_bytes
        self.segments += len(partition.log.segments.all)
        self.partitions += 1
        if partition.leader is not None:
            self._add_led(partition, now)

    def _add_led(self, partition: Partition, now: float) -> None:
        leader = partition.leader
        assert leader is not None
        size = len(leader.isr)
        records, seconds = leader.furthest(partition.log.end_offset, now)
        self.isr_size_min = min(self.isr_size_min, size) if self.leaders else size
        self.leaders += 1
        self.under_replicated += size < len(partition.state.replicas)
        self.under_min_isr += not leader.has_min_isr
        self.replica_lag_records = max(self.replica_lag_records, records)
        self.replica_lag_seconds = max(self.replica_lag_seconds, seconds)


class TopicRows:
    """One row a topic, filled partition by partition so that a caller can pause in between."""

    def __init__(self, now: float) -> None:
        self._now = now
        self._rows: dict[str, TopicRow] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, partition: Partition) -> None:
        row = self._rows.get(partition.id.topic)
        if row is None:
            row = self._rows[partition.id.topic] = TopicRow()
        row.add(partition, self._now)

    def metrics(self) -> Iterator[Metric]:
        led = {topic: row for topic, row in self._rows.items() if row.leaders}
        for columns, rows in ((_COLUMNS, self._rows), (_LED_COLUMNS, led)):
            for name, help_text in columns:
                kind = "counter" if name.endswith("_total") else "gauge"
                # Topic names hold no character that a label would have to escape.
                samples = [(f'{{topic="{topic}"}}', getattr(row, name)) for topic, row in rows.items()]
                yield Metric(f"headrace_topic_{name}", kind, help_text, samples)


_PARTITION_COLUMNS = (
    ("start_offset", "The first offset that is kept."),
    ("high_watermark", "Where what is committed ends."),
    ("end_offset", "Where the log ends."),
    ("log_bytes", "Bytes on disk."),
    ("segments", "Segments on disk."),
    ("is_leader", "1 on the broker that leads it."),
    ("isr_size", "In-sync replicas; on its leader only."),
    ("replica_lag_records", "Records that its furthest follower lacks; on its leader only."),
)


def partition_metrics(partitions: "Iterable[Partition]", now: float) -> Iterator[Metric]:
    """Each partition by itself, for the topic that somebody looks at."""
    rows = [(labels_of(topic=each.id.topic, partition=each.id.partition), _values(each, now)) for each in partitions]
    for place, (name, help_text) in enumerate(_PARTITION_COLUMNS):
        samples = [(labels, value) for labels, values in rows if (value := values[place]) is not None]
        yield Metric(f"headrace_partition_{name}", "gauge", help_text, samples)


def _values(partition: Partition, now: float) -> tuple[int | None, ...]:
    log, leader = partition.log, partition.leader
    isr_size = lag = None
    if leader is not None:
        isr_size, lag = len(leader.isr), leader.furthest(log.end_offset, now)[0]
    offsets = (log.start_offset, partition.high_watermark, log.end_offset)
    return (*offsets, log.segments.size_bytes, len(log.segments.all), int(partition.is_leader), isr_size, lag)
