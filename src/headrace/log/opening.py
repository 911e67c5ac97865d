"""The opening of a log, from its directory: what an earlier life left is swept, recovered where need be, and taken up.

After an unclean stop `synced_end` is the recovery point until a first ticket has run: run one. The earlier life may have
ended because a sync failed, and nobody can be sure to have written that down: the disk had just failed. Bytes above the
recovery point may then be in the page cache only, where the next sync would not find them. So after every unclean stop
they are written again.
"""

from headrace.base.clock import Now
from headrace.log.config import LogConfig
from headrace.log.directory import list_segments, sweep
from headrace.log.log import Log
from headrace.log.pool import FilePool
from headrace.log.recovery import Recovered, RecoveryReport, recover, resume
from headrace.log.segment import Segment
from headrace.log.state import LogState


def open_log(
    pool: FilePool,
    path: str,
    config: LogConfig,
    now: Now,
    *,
    recovery_point: int,
    clean: bool,
    start_offset: int | None = None,
) -> tuple[Log, RecoveryReport]:
    """Opens the log of a directory, or makes a new one, and says what a recovery cut."""
    is_new = not pool.disk.exists(path)
    if is_new:
        pool.disk.mkdir(path)
    names = sweep(pool.disk, path)
    log = Log(pool, path, config, start_offset or 0, names, now)
    if is_new or not clean:
        _prove_names(log)
    segments = _without_retired(log, list_segments(pool, path, names, config.index_interval_bytes))
    # A start is written down before anything below it goes.
    log.lacks_head = bool(segments) and segments[0].base_offset > log.start_offset
    if len(segments) > 1 or any(segment.size for segment in segments) or (segments and len(log.snapshots)):
        report = _open_written(log, segments, recovery_point, clean, now)
    else:
        _open_empty(log, segments, now)
        report = RecoveryReport(below_recovery_point=recovery_point > log.end_offset)
    # With damage that an earlier life cut and may not have told anybody: the cut itself shows no more.
    return log, report._replace(was_damaged=log.damage.is_set, lacks_head=log.lacks_head)


def _open_empty(log: Log, segments: list[Segment], now: Now) -> None:
    """A log to which nothing was ever written, as most are in a broker with very many: no file is opened for it."""
    if not segments:
        log.segments.begin_at(log.start_offset, log.config.index_interval_bytes)
        return
    segments[0].begin_empty()
    log.take_up(segments, LogState(), segments[0].base_offset, now)


def _open_written(log: Log, segments: list[Segment], recovery_point: int, clean: bool, now: Now) -> RecoveryReport:
    now_ms = log.steady(now)
    recovered = resume(segments, log.snapshots, recovery_point, now_ms) if clean else None
    if recovered is not None:
        log.take_up(recovered.segments, recovered.state, segments[-1].next_offset, now)
        return recovered.report
    recovered = recover(segments, log.snapshots, recovery_point, now_ms, log.config, log.start_offset)
    if recovered.report.is_damage:
        log.damage.set()
    _mend(log, recovered)
    _write_again(recovered, recovery_point)
    synced_end = min(recovery_point, recovered.segments[-1].next_offset)
    log.take_up(recovered.segments, recovered.state, synced_end, now)
    return recovered.report


def _without_retired(log: Log, segments: list[Segment]) -> list[Segment]:
    """The segments above the start: a crash may bring some of the retired ones back, with holes between them."""
    live = [segment for segment in segments if segment is segments[-1] or segment.next_offset > log.start_offset]
    log.segments.drop(segments[: len(segments) - len(live)])
    return live


def _mend(log: Log, recovered: Recovered) -> None:
    """Makes the files agree with what the scan found. All of it is unsynced: so may the bytes have been."""
    active = recovered.segments[-1]
    if active.file.size > active.size:
        active.file.truncate(active.size)
    log.segments.drop(recovered.dropped)
    log.segments.disk.unlink(active.index_path)
    for segment in recovered.scanned:
        log.sync.touch(segment.file)
    for cache in recovered.caches:
        log.sync.touch(cache)
        cache.close()
    _prove_names(log)


def _prove_names(log: Log) -> None:
    """Has the first ticket sync the directories of the log and its files again.

    A name that is there may not be durable: a killed process leaves the page cache behind, so does a failed sync.
    """
    above, slash, _ = log.path.rpartition("/")
    log.sync.touch_directory(above or slash or ".")
    log.sync.touch_directory(log.path)


def _write_again(recovered: Recovered, recovery_point: int) -> None:
    for segment in recovered.scanned:
        segment.file.rewrite(segment.position_of(max(recovery_point, segment.base_offset)))
