"""Keyed logs on a disk in memory, cleaned in this process as a broker would have them cleaned in another."""

from collections.abc import Callable, Iterator

from logs import NOW, PATH, Rig

from headrace.base.clock import Now
from headrace.log import LogConfig
from headrace.log.clean_batch import NO_CODEC
from headrace.log.clean_job import CleanJob, CleanReport, SealedSegment
from headrace.log.clean_log import clean_log
from headrace.log.swap import CleanedGroup, begin_swap
from headrace.wire.records import Record, build_batch, read_records
from sim.disk import SimDisk

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=100)
DAY_MS = 86_400_000


class CleaningRig(Rig):
    def __init__(self, machine: SimDisk | None = None, config: LogConfig = CONFIG) -> None:
        super().__init__(config, machine)
        self.cleaned_to = 0

    def put(self, *records: tuple[str, str | None], codec: int = 0, epoch: int = 0, **fields: int | bool) -> None:
        """One batch of keyed records; a value of None is a tombstone."""
        made = [
            Record(timestamp=NOW.wall, key=key.encode(), value=None if value is None else value.encode())
            for key, value in records
        ]
        self.append(build_batch(made, base_offset=self.log.end_offset, leader_epoch=epoch, codec=codec, **fields))

    def seal(self) -> None:
        """All that is there becomes sealed and is on disk."""
        self.log.roll(NOW)
        self.sync()

    def job(self, now: Now = NOW, **changes: object) -> CleanJob:
        sealed = self.log.segments.all[:-1]
        end_offset = sealed[-1].next_offset
        job = CleanJob(
            directory=PATH,
            segments=[SealedSegment(each.base_offset, each.next_offset, each.size) for each in sealed],
            first_dirty_offset=self.cleaned_to,
            start_offset=self.log.start_offset,
            last_batches=[state.batches[-1][2] for _, state in self.log.state.producers.items() if state.batches],
            producers=[producer_id for producer_id, _ in self.log.state.producers.items()],
            aborted=[*self.log.state.transactions.aborted.between(0, end_offset)],
            aborted_dirty=[*self.log.state.transactions.aborted.between(self.cleaned_to, end_offset)],
            now_ms=now.wall,
            delete_retention_ms=DAY_MS,
            may_forget=True,
            codec=NO_CODEC,
            segment_bytes=self.config.segment_bytes,
            index_interval_bytes=self.config.index_interval_bytes,
            memory_bytes=1 << 16,
            bytes_per_second=1e9,
            free_bytes_min=0,
            run="1-1",
        )
        return CleanJob.decode(job._replace(**changes).encode())  # type: ignore[arg-type]

    def clean(self, now: Now = NOW, **changes: object) -> CleanReport:
        for step in self.clean_in_steps(now, **changes):
            step()
        return self.report_of_cleaning

    def clean_in_steps(self, now: Now = NOW, **changes: object) -> Iterator[Callable[[], None]]:
        """What a broker does, one step at a time, so that a test can end the world between any two."""
        old, truncations = list(self.log.segments.all[:-1]), self.log.sync.truncations
        for found in clean_log(self.disk, self.job(now, **changes), b"secret", lambda _: None):
            if isinstance(found, CleanReport):
                self.report_of_cleaning = found
                self.cleaned_to = found.cleaned_to
            elif not found.is_same:
                yield from self._swap_in_steps(found, old, truncations)

    def _swap_in_steps(self, group: CleanedGroup, all_old: list, truncations: int) -> Iterator[Callable[[], None]]:
        log = self.log
        old = [each for each in all_old if group.base_offset <= each.base_offset < group.next_offset]
        swap = begin_swap(log.segments, group, old, truncations)
        assert swap is not None
        yield self.disk.sync_dir_job(PATH)
        assert swap.put_in()
        yield self.disk.sync_dir_job(PATH)
        swap.finish()
        yield lambda: None
        for path in log.segments.take_retired():
            self.disk.unlink(path)

    def records(self) -> list[Record]:
        return [record for content in self.contents() for record in read_records(content)]

    def table(self) -> list[tuple[int, str, str | None]]:
        return [
            (each.offset, (each.key or b"").decode(), None if each.value is None else each.value.decode())
            for each in self.records()
        ]
