"""Retention on this broker: segments that a topic no longer keeps, by age or by size, leave the logs it leads.

Only a leader decides; followers follow the start of its log. The new starts of a round are written down at its end, and
the files below them go after that, so that no start goes back. Each round gives every log a bounded number of segments to
lose, and goes on soon when that was not all.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from headrace.base.clock import Now
from headrace.base.errors import DiskFull
from headrace.broker.checkpoints import Checkpoints
from headrace.broker.membership.view import View
from headrace.broker.partitions import Partitions
from headrace.broker.upkeep.credible_time import CredibleTime
from headrace.log.retention import UNLIMITED, start_by_size, start_by_time
from headrace.partition.partition import Partition
from headrace.wire.batch import CorruptBatch

logger = logging.getLogger("headrace.retention")

PER_TURN = 200
SEGMENTS_PER_ROUND = 50
FIRST_SECONDS_MAX = 30.0
GO_ON_SECONDS = 1.0


class Pressure(NamedTuple):
    """The pressure on the led partition of a topic that is nearest to losing something."""

    fill: float
    """Bytes kept as a share of `retention.bytes`; 0 without that limit."""
    oldest_due_ms: int
    """When its oldest segment is too old; 0 when nothing is."""


class Retention:
    def __init__(
        self, view: View, partitions: Partitions, checkpoints: Checkpoints, credible_time: CredibleTime
    ) -> None:
        self._view = view
        self._partitions = partitions
        self._checkpoints = checkpoints
        self._credible_time = credible_time
        self.segments_dropped = 0
        self.pressure: Mapping[str, Pressure] = {}

    async def run(self) -> None:
        interval = self._view.config.number("log.retention.check.interval.ms") / 1000
        wait = min(interval, FIRST_SECONDS_MAX)
        while True:
            await asyncio.sleep(wait)
            dropped = self.segments_dropped
            wait = min(interval, GO_ON_SECONDS) if await self._round() else interval
            if self.segments_dropped > dropped:
                await self._write_down()

    async def _write_down(self) -> None:
        try:
            await self._checkpoints.save()
        except DiskFull as full:
            logger.error("less is deleted, since not all could be written down: %(cause)s", {"cause": full})
        # Below the starts that could be written down.
        await self._checkpoints.remove_retired()

    async def _round(self) -> bool:
        """Whether there is more to do."""
        now = self._credible_time.of(self._view.clock.now())
        pressure: dict[str, Pressure] = {}
        is_more = False
        for count, partition in enumerate(list(self._partitions), 1):
            if partition.is_leader and partition.config.deletes:
                try:
                    dropped, has_more = forget_old(partition, now)
                    self.segments_dropped += dropped
                    is_more |= has_more
                    _press(pressure, partition)
                except (CorruptBatch, DiskFull) as error:
                    logger.error(
                        "retention of %(topic)s-%(partition)d has to wait: %(cause)s",
                        {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": error},
                    )
            if count % PER_TURN == 0:
                await asyncio.sleep(0)
        self.pressure = pressure
        return is_more


def forget_old(partition: Partition, now: Now) -> tuple[int, bool]:
    """Moves the start past what the topic no longer keeps: how many segments that is, and whether there are more."""
    store, config = partition.log, partition.config
    segments = [
        segment for segment in store.segments.all if segment.next_offset > store.start_offset
    ] or store.segments.all
    by_time = start_by_time(segments, config.retention_ms, now.wall)
    start = min(max(by_time, start_by_size(segments, config.retention_bytes)), partition.high_watermark)
    ends = [segment.next_offset for segment in segments if store.start_offset < segment.next_offset <= start]
    if not ends:
        return 0, False
    end = ends[:SEGMENTS_PER_ROUND][-1]
    if end > segments[-1].base_offset:
        # Only a sealed segment can go.
        partition.upkeep.roll(now)
    partition.upkeep.delete_records(end)
    return min(len(ends), SEGMENTS_PER_ROUND), len(ends) > SEGMENTS_PER_ROUND


def _press(pressure: dict[str, Pressure], partition: Partition) -> None:
    config, segments = partition.config, partition.log.segments.all
    oldest = segments[0]
    fill = partition.log.segments.size_bytes / config.retention_bytes if config.retention_bytes > 0 else 0.0
    due = 0
    if config.retention_ms != UNLIMITED and oldest.size and oldest.max_timestamp >= 0:
        due = oldest.max_timestamp + config.retention_ms
    before = pressure.get(partition.id.topic)
    if before is not None:
        fill = max(fill, before.fill)
        due = min(filter(None, (due, before.oldest_due_ms)), default=0)
    pressure[partition.id.topic] = Pressure(fill, due)


def rows(pressure: Mapping[str, Pressure]) -> Iterator[tuple[str, float, float]]:
    """(labels, fill, unix seconds) for the metrics."""
    for topic, each in pressure.items():
        yield f'{{topic="{topic}"}}', each.fill, each.oldest_due_ms / 1000
