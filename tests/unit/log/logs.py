"""Logs on a disk in memory, and batches to put into them."""

from headrace.base.clock import Now
from headrace.log import FilePool, Log, LogConfig, RecoveryReport, Verdict, open_log
from headrace.wire.batch import BatchHeader, iter_headers, parse_header
from headrace.wire.records import Record, build_batch
from sim.disk import SimDisk

PATH = "/data/orders-0"
NOW = Now(0.0, 1_000_000)
SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=200)


def later(ms: int) -> Now:
    return Now(ms / 1000, NOW.wall + ms)


def batch(
    base_offset: int = 0,
    records: int = 1,
    *,
    timestamps: list[int] | None = None,
    epoch: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    value: bytes = b"v" * 30,
    codec: int = 0,
) -> bytes:
    times = timestamps or [NOW.wall] * records
    producer_id, producer_epoch, sequence = producer
    return build_batch(
        [Record(timestamp=time, value=value) for time in times],
        codec=codec,
        base_offset=base_offset,
        leader_epoch=epoch,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
    )


def verdict(log: Log, header: BatchHeader) -> Verdict:
    return log.state.check(header, log.config.producers_max)


def header(content: bytes) -> BatchHeader:
    return parse_header(content)


class Rig:
    """A machine's disk and the log on it, which can be stopped in each way and opened again."""

    def __init__(self, config: LogConfig = SMALL, machine: SimDisk | None = None) -> None:
        self.machine = machine or SimDisk()
        self.machine.mount().mkdir("/data")
        self.machine.root.settle(self.machine.root.mark())
        self.config = config
        self.now = NOW
        self.report = RecoveryReport()
        self.open(recovery_point=0)

    def open(self, *, recovery_point: int, clean: bool = False, start_offset: int | None = None) -> Log:
        self.disk = self.machine.mount()
        self.pool = FilePool(self.disk)
        self.log, self.report = open_log(
            self.pool,
            PATH,
            self.config,
            self.now,
            recovery_point=recovery_point,
            clean=clean,
            start_offset=start_offset,
        )
        return self.log

    def append(self, *batches: bytes, now: Now = NOW) -> None:
        self.log.append(b"".join(batches), [parse_header(content) for content in batches], now)

    def fill(self, count: int, **fields: object) -> list[bytes]:
        """Appends that many batches of one record, one by one."""
        made = []
        for _ in range(count):
            made.append(batch(self.log.end_offset, **fields))  # type: ignore[arg-type]
            self.append(made[-1])
        return made

    def sync(self) -> int:
        ticket = self.log.begin_sync()
        if ticket is not None:
            for job in ticket.jobs:
                job()
            self.log.on_synced(ticket)
        return self.log.sync.synced_end

    def close_clean(self) -> None:
        self.log.prepare_close()
        self.sync()
        self.log.close()

    @property
    def batches_to_replay(self) -> int:
        """The number of batches a cut close to the end of the log would replay."""
        return self.log.snapshots.batches

    def read(self, offset: int, max_bytes: int = 1 << 20, end_offset: int | None = None, **how: bool) -> bytes | None:
        found = self.log.reader.read(
            offset, max_bytes, self.log.end_offset if end_offset is None else end_offset, **how
        )
        if found is None:
            return None
        content = found.read()
        assert len(content) == len(found)
        found.release()
        return content

    def contents(self) -> list[bytes]:
        """All batches, from the start of the log."""
        batches: list[bytes] = []
        offset = self.log.start_offset
        while (content := self.read(offset)) is not None:
            headers = list(iter_headers(content))
            batches += [content[at : at + found.size] for at, found in headers]
            offset = headers[-1][1].next_offset
        return batches

    def names(self) -> list[str]:
        return self.machine.mount().listdir(PATH) if not self.disk.is_alive else self.disk.listdir(PATH)
