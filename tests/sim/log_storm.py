"""One log under random appends, rolls, syncs, truncations and power cuts, beside a model that says what must be left.

The storm plays the broker's part by the rules the log sets: recovery points are made durable after a sync, and lowered
before a truncation. `Rules` break one of them on purpose, so that a test can see the storm notice.
"""

import contextlib
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from headrace.base.clock import Now
from headrace.base.errors import DiskFull
from headrace.log import Duplicate, FilePool, Log, LogConfig, RecoveryReport, SyncTicket, open_log
from headrace.wire.batch import BatchHeader, iter_headers, parse_header
from headrace.wire.records import Record, build_batch
from sim.disk import SimDisk

PATH = "/data/orders-0"
CONFIG = LogConfig(segment_bytes=6000, index_interval_bytes=700, snapshot_batches=3)
PRODUCERS = (11, 12, 13)


@dataclass
class Rules:
    lowers_recovery_point: bool = True
    checkpoints_synced_end: bool = True
    lies_about_directories: bool = False
    lies_about_files: bool = False


@dataclass(frozen=True)
class Batch:
    header: BatchHeader
    content: bytes


class LogStorm:
    def __init__(self, seed: int, rules: Rules) -> None:
        self.rng = Random(seed)
        self.rules = rules
        self.machine = SimDisk()
        self.machine.mount().mkdir("/data")
        self.machine.root.settle(self.machine.root.mark())
        self.machine.lies_about_directories = rules.lies_about_directories
        self.machine.lies_about_files = rules.lies_about_files
        self.now = Now(0.0, 1_000_000)
        self.epoch = 1
        self.recovery_point = 0
        self.durable_start = 0
        self.batches: list[Batch] = []
        self.ever: set[bytes] = set()
        self.was_cut = False
        self.ticket: SyncTicket | None = None
        self.log, _ = self._open()
        self._sync()

    def run(self, lives: int, steps: int) -> None:
        for _ in range(lives):
            for _ in range(self.rng.randint(1, steps)):
                self._step()
            self._die()
        self._finish_sync()
        self.log.prepare_close()
        self._sync()
        self.log.close()
        self._expect_same(self.batches, clean=True)

    def _step(self) -> None:
        self.now = Now(self.now.mono + 1, self.now.wall + self.rng.randint(0, 20))
        self.rng.choices(
            (
                self._append,
                self._resend,
                self._begin_sync,
                self._finish_sync,
                self._checkpoint,
                self._roll,
                self._truncate,
                self._advance_start,
                self._run_one_job,
                self._append_to_full_disk,
            ),
            (12, 2, 3, 3, 2, 1, 1, 1, 1, 1),
        )[0]()

    # What a broker does

    def _append(self) -> None:
        several = self.rng.choice((1, 1, 1, 3))
        made: list[Batch] = []
        for _ in range(several):
            made.append(self._made(self.log.end_offset if not made else made[-1].header.next_offset, made))
        self.ever.update(batch.content for batch in made)
        self.log.append(b"".join(batch.content for batch in made), [batch.header for batch in made], self.now)
        self.batches += made

    def _append_to_full_disk(self) -> None:
        end_offset = self.log.end_offset
        self.machine.capacity_bytes = self.machine.used_bytes() + self.rng.choice((0, 80, 300))
        with contextlib.suppress(DiskFull):
            self._append()
        self.machine.capacity_bytes = None
        assert self.log.end_offset == (self.batches[-1].header.next_offset if self.batches else end_offset)

    def _made(self, base_offset: int, before: list[Batch]) -> Batch:
        producer_id = self.rng.choice((-1, *PRODUCERS))
        sequence = self._next_sequence(producer_id, before) if producer_id >= 0 else -1
        value = self.rng.randbytes(self.rng.choice((3, 100, 1500)))
        times = [self.now.wall + self.rng.randint(-30, 30) for _ in range(self.rng.randint(1, 4))]
        content = build_batch(
            [Record(timestamp=time, value=value) for time in times],
            base_offset=base_offset,
            leader_epoch=self.epoch,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
        )
        return Batch(parse_header(content), content)

    def _next_sequence(self, producer_id: int, before: list[Batch]) -> int:
        """As a client knows it, which remembers what retention has long taken from the log."""
        state = self.log.state.producers.get(producer_id)
        last = state.last_sequence if state is not None else -1
        return max([last, *(b.header.last_sequence for b in before if b.header.producer_id == producer_id)]) + 1

    def _resend(self) -> None:
        expect_duplicates(self.log, self.batches)

    def _begin_sync(self) -> None:
        if self.ticket is None:
            self.ticket = self.log.begin_sync()
            if self.ticket is not None:
                self.rng.shuffle(self.ticket.jobs)

    def _run_one_job(self) -> None:
        if self.ticket is not None and self.ticket.jobs:
            self.ticket.jobs.pop()()

    def _finish_sync(self) -> None:
        while self.ticket is not None and self.ticket.jobs:
            self._run_one_job()
        if self.ticket is not None:
            self.log.on_synced(self.ticket)
            if self.ticket.truncations == self.log.sync.truncations:
                self.was_cut = False
            self.ticket = None

    def _sync(self) -> None:
        self._finish_sync()
        self._begin_sync()
        self._finish_sync()

    def _checkpoint(self) -> None:
        log = self.log
        self.recovery_point = log.sync.synced_end if self.rules.checkpoints_synced_end else log.end_offset
        self.durable_start = log.start_offset
        log.snapshots.prune(self.recovery_point, log.start_offset)

    def _roll(self) -> None:
        self.log.roll(self.now)

    def _truncate(self) -> None:
        kept = self.rng.randint(max(0, len(self.batches) - 8), len(self.batches))
        end = self.batches[kept].header.base_offset if kept < len(self.batches) else self.log.end_offset
        if end <= self.log.start_offset:
            return
        if self.rules.lowers_recovery_point:
            self.recovery_point = min(self.recovery_point, end)
        self.durable_start = min(self.durable_start, end)
        self.was_cut = self.was_cut or kept < len(self.batches)
        self.log.truncate_to(end, self.now)
        del self.batches[kept:]
        assert self.log.end_offset == end, (self.log.end_offset, end)
        expect_duplicates(self.log, self.batches)
        self.epoch += 1

    def _advance_start(self) -> None:
        starts = [
            batch.header.base_offset for batch in self.batches if batch.header.base_offset <= self.log.sync.synced_end
        ]
        if starts:
            self.log.advance_start(self.rng.choice(starts[: len(starts) // 2 + 1]))
        self._checkpoint()
        for path in self.log.retire_segments(self.log.start_offset):
            if self.rng.random() < 0.7:
                self.log.segments.disk.unlink(path)

    # What fate does

    def _die(self) -> None:
        synced_end, start = self.log.sync.synced_end, self.log.start_offset
        must_stay = [batch for batch in self.batches if batch.header.next_offset <= synced_end]
        if self.rng.random() < 0.2:
            self.machine.kill()
        else:
            self.machine.crash(self.rng)
        self.ticket = None
        self.log, report = self._open()
        found = read_all(self.log)
        assert not report.below_recovery_point, (report, self.recovery_point)
        assert self.log.end_offset >= synced_end, (
            f"acknowledged up to {synced_end}, the log ends at {self.log.end_offset}"
        )
        expect_kept(must_stay, found, max(start, self.log.start_offset))
        assert all(batch.content in self.ever for batch in found), "a batch that nobody wrote"
        if not self.was_cut:
            known = {batch.content for batch in self.batches}
            assert all(batch.content in known for batch in found), "a batch that had been truncated, and synced so"
        self._expect_same(found)
        self.batches = found
        self.epoch = max([self.epoch, *(batch.header.leader_epoch for batch in found)]) + 1
        self._sync()

    def _open(self, clean: bool = False) -> tuple[Log, RecoveryReport]:
        disk = self.machine.mount()
        return open_log(
            FilePool(disk, open_max=3, index_bytes_max=10_000),
            PATH,
            CONFIG,
            self.now,
            recovery_point=self.recovery_point,
            clean=clean,
            start_offset=self.durable_start,
        )

    def _expect_same(self, batches: list[Batch], clean: bool = False) -> None:
        if clean:
            self.log, _ = self._open(clean=True)
            assert self.log.begin_sync() is None, "a clean start has nothing to sync"
            batches = [b for b in batches if b.header.next_offset > self.log.segments.all[0].base_offset]
            assert [b.content for b in read_all(self.log)] == [b.content for b in batches]
        expect_dense(batches, self.log.end_offset)
        expect_duplicates(self.log, batches)
        expect_epochs(self.log, batches)
        expect_seeks(self.log, batches, self.rng)
        expect_times(self.log, batches, self.rng)


def read_all(log: Log) -> list[Batch]:
    batches: list[Batch] = []
    offset = log.segments.all[0].base_offset
    while (found := log.reader.read(offset, 2000, log.end_offset)) is not None:
        content = found.read()
        batches += [Batch(header, content[at : at + header.size]) for at, header in iter_headers(content)]
        offset = found.next_offset
        assert offset == batches[-1].header.next_offset
        found.release()
    return batches


def expect_kept(must_stay: list[Batch], found: list[Batch], start: int) -> None:
    there = {batch.header.base_offset: batch.content for batch in found}
    for batch in must_stay:
        base_offset = batch.header.base_offset
        if base_offset >= start:
            assert there.get(base_offset) == batch.content, f"the synced batch at {base_offset} is not as it was"


def expect_dense(batches: list[Batch], end_offset: int) -> None:
    for before, after in pairwise(batches):
        assert after.header.base_offset == before.header.next_offset
        assert after.header.leader_epoch >= before.header.leader_epoch
    if batches:
        assert batches[-1].header.next_offset == end_offset


def expect_duplicates(log: Log, batches: list[Batch]) -> None:
    for producer_id in PRODUCERS:
        written = [batch.header for batch in batches if batch.header.producer_id == producer_id]
        # What retention took away may be forgotten: after a truncation there is nothing left to replay it from.
        for header in [header for header in written[-5:] if header.base_offset >= log.segments.all[0].base_offset]:
            expected = Duplicate(header.base_offset, header.next_offset, header.max_timestamp)
            assert log.state.check(header, log.config.producers_max) == expected
        if written:
            assert (
                log.state.check(
                    written[-1]._replace(base_sequence=written[-1].last_sequence + 1), log.config.producers_max
                )
                is None
            )


def expect_epochs(log: Log, batches: list[Batch]) -> None:
    batches = [batch for batch in batches if batch.header.next_offset > log.start_offset]
    epochs = sorted({batch.header.leader_epoch for batch in batches})
    for epoch in epochs:
        later = [b.header.base_offset for b in batches if b.header.leader_epoch > epoch]
        assert log.state.epochs.end_of(epoch, -1, log.end_offset) == (epoch, later[0] if later else log.end_offset)


def expect_seeks(log: Log, batches: list[Batch], rng: Random) -> None:
    for batch in rng.sample(batches, min(8, len(batches))):
        offset = rng.randint(batch.header.base_offset, batch.header.last_offset)
        found = log.reader.read(offset, 1, log.end_offset)
        assert found is not None
        assert found.read() == batch.content
        found.release()


def expect_times(log: Log, batches: list[Batch], rng: Random) -> None:
    for batch in rng.sample(batches, min(4, len(batches))):
        timestamp = batch.header.max_timestamp - rng.randint(0, 3)
        newer = [
            b.header
            for b in batches
            if b.header.max_timestamp >= timestamp and b.header.last_offset >= log.start_offset
        ]
        found = log.reader.find_by_time(timestamp, log.start_offset)
        if newer:
            assert found is not None
            assert newer[0].base_offset <= found[0] <= newer[0].last_offset or newer[0].base_offset < log.start_offset
            assert found[1] >= timestamp
        else:
            assert found is None
