"""Leases of the brokers of one host, in a SQLite file that is never synced: it need not outlive the machine's uptime.

The file's name carries the kernel's boot id. After a power loss every holder is dead and the file may be torn: nobody
reads it again, the new boot begins a new one. Moments are CLOCK_BOOTTIME, the same for all processes of the host, so a
jump of the wall clock moves no lease. A lease is taken at a moment inside the transaction, after the wait for its lock.

A lease also ends with the process that took it (see `process_life`): on one host nobody has to wait for a dead broker's
lease to run out, only for that of one that hangs.

Somebody who tidies up may delete the file under us. Others would then begin a new one and see nobody in it, so we open
the file that is there now: our leases are not in it, are lost, and are taken again.
"""

import logging
import math
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import apsw

from headrace.base.clock import Clock
from headrace.base.errors import DiskFailed, StoreUnreachable, UserError
from headrace.cluster.store import Lease, LeaseHeld, LeaseLost
from headrace.stores.process_life import ProcessLife, is_over, sweep
from headrace.stores.sqlite_file import FileLayout, SqliteFile

_LAYOUT: Final = FileLayout(
    application_id=0x48524C31,
    format_version=1,
    schema="""
        CREATE TABLE leases (
            name TEXT PRIMARY KEY, holder TEXT NOT NULL, epoch INTEGER NOT NULL, ttl_ms INTEGER NOT NULL,
            ends REAL NOT NULL, life TEXT NOT NULL
        ) WITHOUT ROWID;
    """,
    synchronous="OFF",
    # Reached within seconds, so that a full disk does not cost a broker its lease.
    wal_pages=8,
)


logger = logging.getLogger("headrace.store")


class SqliteLeases:
    def __init__(self, beside: Path, clock: Clock, deadline_s: float) -> None:
        self._path = beside.with_name(f"{beside.name}.leases-{clock.boot_id()}")
        _remove_older(beside, self._path)
        self._clock = clock
        self._deadline_s = deadline_s
        self._data_version: object = None
        self._next_end = 0.0
        self._beside = beside
        self._file = SqliteFile(self._path, _LAYOUT, deadline_s)
        self._others: set[str] = set()
        try:
            mono = clock.now().mono
            sweep(beside, self._file.read(lambda db: _lives(db, mono)))
            self._life = ProcessLife(beside)
        except BaseException:
            self._file.close()
            raise

    def _stay(self) -> None:
        """Reopens the file if another one has its name now, and keeps our life's file: others must find both."""
        if not self._file.is_in_place():
            logger.warning("%(path)s was deleted or replaced: leases are taken anew", {"path": self._path})
            self._file.close()
            self._file = SqliteFile(self._path, _LAYOUT, self._deadline_s)
            self._data_version, self._next_end = None, 0.0
        try:
            self._life.keep()
        except OSError as error:
            logger.warning(
                "%(path)s: %(cause)s; a death of this broker is seen when its lease runs out",
                {"path": self._path, "cause": error},
            )

    def acquire(self, lease: Lease) -> Lease:
        self._stay()

        def work(db: apsw.Connection) -> Lease:
            mono = self._clock.now().mono
            held = self._live(db, mono).get(lease.name)
            if held is not None and (held.holder != lease.holder or held.epoch >= lease.epoch):
                raise LeaseHeld(held)
            ends = mono + lease.ttl_ms / 1000
            db.execute("INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)", (*lease, ends, self._life.token))
            # SQLite's counter leaves out our own writes.
            self._next_end = 0.0
            return lease

        return self._file.write(work)

    def renew(self, lease: Lease) -> None:
        """Renews a lease at once, so that no broker that waits for its interpreter keeps others from renewing theirs.

        The moment is that before the wait for the lock. SQLite's own clock tells whether the lease ran out meanwhile, unless
        the wall clock is set back just then: nobody can have taken the lease in that time, but others may have seen it end.
        """
        self._stay()
        # The wall before ours: who stands still in between takes the lease for older than it is, never for younger.
        wall = time.time()
        mono = self._clock.now().mono
        changed = self._file.write_at_once(
            "UPDATE leases SET ends = ? WHERE name = ? AND holder = ? AND epoch = ?"
            " AND ends > ? AND ends > unixepoch('subsec') - ?",
            (mono + lease.ttl_ms / 1000, lease.name, lease.holder, lease.epoch, mono, wall - mono),
        )
        if not changed:
            raise LeaseLost(lease)

    def release(self, lease: Lease) -> None:
        self._next_end = 0.0
        self._file.write(
            lambda db: db.execute(
                "DELETE FROM leases WHERE name = ? AND holder = ? AND epoch = ?",
                (lease.name, lease.holder, lease.epoch),
            )
        )

    def live(self) -> Mapping[str, Lease]:
        # The moment first: a lease that is renewed meanwhile is seen as it was or as it is, alive either way.
        mono = self._clock.now().mono
        return self._file.read(lambda db: self._live(db, mono))

    def _live(self, db: apsw.Connection, mono: float) -> dict[str, Lease]:
        rows = db.execute("SELECT name, holder, epoch, ttl_ms, life FROM leases WHERE ends > ? ORDER BY name", (mono,))
        leases = {}
        others = set()
        for *lease, life in rows:
            if life != self._life.token:
                if is_over(self._beside, life):
                    continue
                others.add(life)
            leases[lease[0]] = Lease(*lease)
        if not others >= self._others:
            # Whoever asked first has seen a death, and watchers may not have been told of it.
            self._next_end = 0.0
        self._others = others
        return leases

    def has_changed(self) -> bool:
        """Whether another process wrote since the last call or died, or a lease may have run out."""
        self._file.look_for_frozen_writer()
        before, self._data_version = self._data_version, self._file.read(lambda db: db.pragma("data_version"))
        mono = self._clock.now().mono
        somebody_died = any(is_over(self._beside, life) for life in list(self._others))
        if self._data_version == before and mono < self._next_end and not somebody_died:
            return False
        self._next_end = self._file.read(lambda db: _next_end(db, mono))
        return True

    def close(self) -> None:
        try:
            self._file.write_at_once("DELETE FROM leases WHERE life = ?", (self._life.token,))
            is_forgotten = True
        except (StoreUnreachable, DiskFailed, UserError):
            is_forgotten = False
        self._life.end(is_forgotten)
        self._file.close()


def _lives(db: apsw.Connection, mono: float) -> set[str]:
    return {life for (life,) in db.execute("SELECT life FROM leases WHERE ends > ?", (mono,))}


def _next_end(db: apsw.Connection, mono: float) -> float:
    end = db.execute("SELECT min(ends) FROM leases WHERE ends > ?", (mono,)).get
    return math.inf if end is None else float(end)


def _remove_older(beside: Path, current: Path) -> None:
    for path in beside.parent.iterdir():
        if path.name.startswith(f"{beside.name}.leases-") and not path.name.startswith(current.name):
            path.unlink(missing_ok=True)
