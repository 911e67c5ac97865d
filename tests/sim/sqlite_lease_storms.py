"""Storms over the SQLite leases: the processes of one host on one file that is never synced, and that people tidy away.

One thread, so a seed tells one story. Time passes, another process gets its turn, or one dies at every write, every wait
for a lock, every reading of a clock, and in the midst of making a life's file. Power cuts leave any sectors of the file and
begin a new boot. Clocks of the wall jump, SQLite's own too. `lease_ledger` judges.

All connections are of one process here, so that a -wal or -shm that is deleted alone is not seen as other processes would:
the three files go together.
"""

import os
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Final
from unittest.mock import patch

import apsw

from headrace.base.clock import Now
from headrace.base.errors import DiskFailed, StoreUnreachable
from headrace.cluster.store import Lease, LeaseHeld, LeaseLost
from headrace.stores import process_life, sqlite_file, sqlite_leases
from headrace.stores.sqlite_leases import SqliteLeases
from sim.checks import Breach
from sim.etcd_storms import LEASES, TTL_MS, StoreOutcome
from sim.lease_ledger import LeaseLedger
from sim.sqlite_disk import Disk, Files
from sim.store_history import Broken

STEPS: Final = 250
PROCESSES: Final = 3
DEADLINES_S: Final = (0.0, 0.3, 3.0)
"""The last is longer than a lease."""
JULIAN_MS_OF_1970: Final = 210_866_760_000_000


class Gone(BaseException):
    """The process ended here."""


class LeaseFiles(Files):
    def __init__(self, name: str, disk: Disk, on_step: Callable[[Files, str], None], wall: Callable[[], float]) -> None:
        self._wall = wall
        super().__init__(name, disk, on_step)

    def xCurrentTimeInt64(self) -> int:
        return JULIAN_MS_OF_1970 + round(self._wall() * 1000)


class Process:
    """One life of one broker: it holds leases under its directory's name, the epoch is that of its tries."""

    def __init__(self, storm: "LeaseStorm", number: int, name: str) -> None:
        self._storm = storm
        self.number = number
        self.files = LeaseFiles(name, storm.disk, storm.on_step, lambda: storm.wall)
        self.held: dict[str, Lease] = {}
        self.had: dict[Lease, None] = {}
        self.is_busy = True
        self.read_at = 0.0
        self.wrote_at = 0.0
        self.opened_at = 0.0
        self.seen: object = None
        self.leases: SqliteLeases | None = None

    def now(self) -> Now:
        self._storm.on_step(self.files, "clock")
        self.read_at = self._storm.mono
        now = Now(self._storm.mono, int(self._storm.wall * 1000))
        self._storm.on_step(self.files, "clock")
        if self.files.is_dead:
            raise Gone
        return now

    def mono(self) -> float:
        return self.now().mono

    def boot_id(self) -> str:
        return f"boot-{self._storm.boots}"

    def die(self) -> None:
        """Nothing more of it reaches the disk; its locks are free."""
        self.files.is_dead = True
        if self.leases is not None:
            with suppress(apsw.Error, DiskFailed):
                self.leases._file.close()
            os.close(self.leases._life._fd)


class LeaseStorm:
    def __init__(self, seed: int, folder: Path) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.disk = Disk(self.rng)
        self.ledger = LeaseLedger()
        self.boots = 0
        self.mono, self.wall = 100.0, 1_700_000_000.0
        self._folder = folder
        self._lives = 0
        self._epochs = 0
        self._jumps = 0
        self._beside = self._next = self._new_folder()
        self._processes: list[Process] = []
        self._running: list[Process] = []
        """The one whose turn it is, and below it those that were interrupted."""
        self._is_quiet = False
        self._has_lost_power = False
        self._are_lives_hidden = False

    def play(self) -> StoreOutcome:
        breach: Breach | None = None
        random.seed(self.seed)
        try:
            with self._patched():
                self._story()
        except Broken as broken:
            breach = broken.breach
        except Exception as error:
            breach = Breach("no-bug", repr(error))
        self._is_quiet = True
        for process in self._processes:
            process.die()
        return StoreOutcome(self.seed, breach, self.ledger.acked)

    @contextmanager
    def _patched(self) -> Iterator[None]:
        clock = SimpleNamespace(monotonic=lambda: self.mono, sleep=self._sleep)
        flock = SimpleNamespace(**{**vars(process_life.fcntl), "flock": self._flock})
        with ExitStack() as stack:
            stack.enter_context(patch.object(sqlite_file, "BUSY_TIMEOUT_MS", 0))
            stack.enter_context(patch.object(sqlite_file, "time", clock))
            stack.enter_context(patch.object(sqlite_leases, "time", SimpleNamespace(time=self._wall_of_process)))
            stack.enter_context(patch.object(process_life, "fcntl", flock))
            stack.enter_context(patch.object(sqlite_leases.logger, "disabled", True))
            yield

    def _story(self) -> None:
        for _ in range(STEPS):
            self._keep_running()
            self._pass(self.rng.choice((0.0, 0.05, 0.3)) if self.rng.random() < 0.98 else 3.0)
            if self.rng.random() < 0.04:
                self._tidy_up()
            self._turn(self.rng.choice(self._processes))
            self._bury()
        self._is_quiet = True
        self._end()

    def _end(self) -> None:
        """Everybody dies, some by a power cut; whoever comes next has every lease, at once if it can see the deaths."""
        if self.rng.random() < 0.5:
            self._lose_power()
        for process in self._processes:
            process.files.is_dead = True
        self._bury()
        if self._are_lives_hidden:
            self._pass(TTL_MS / 1000)
        self._keep_running()
        process = self._processes[0]
        for name in LEASES:
            self._call(process, lambda name=name: self._acquire(process, name))
            if name not in process.held:
                raise Broken("dead-is-seen", f"{name} cannot be taken, and everybody else is dead")

    # -- processes and machines --------------------------------------------------------------------------------------

    def _new_folder(self) -> Path:
        self.boots += 1
        folder = self._folder / f"boot-{self.boots}"
        folder.mkdir()
        return folder / "metadata.sqlite"

    def _keep_running(self) -> None:
        while len(self._processes) < PROCESSES:
            number = min({1, 2, 3} - {each.number for each in self._processes})
            self._lives += 1
            process = Process(self, number, f"leases-{self.seed}-{self._lives}")
            asked = self.mono
            self._processes.append(process)
            process.is_busy = False
            self._call(process, lambda process=process: self._open(process))
            process.opened_at = asked
            process.files.is_dead = process.files.is_dead or process.leases is None
            self._bury()

    def _open(self, process: Process) -> None:
        process.leases = SqliteLeases(self._beside, process, self.rng.choice(DEADLINES_S))

    def _bury(self) -> None:
        for process in [each for each in self._processes if each.files.is_dead]:
            self._processes.remove(process)
            has_life = process.leases is not None and _has_life_file(process.leases)
            process.die()
            self._are_lives_hidden = self._are_lives_hidden or (process.leases is not None and not has_life)
            for lease in process.had:
                self.ledger.on_given_up(lease)
                if has_life:
                    self.ledger.on_gone(lease)
        if self._has_lost_power:
            self._has_lost_power = False
            self._are_lives_hidden = False
            self._beside = self._next
            self.mono = self.rng.uniform(1.0, 50.0)
            self.ledger.on_boot()

    def _lose_power(self) -> None:
        if self._has_lost_power:
            return
        self._has_lost_power = True
        for process in self._processes:
            process.files.is_dead = True
        lives = list(self._beside.parent.glob("*.life-*"))
        self._next = self._new_folder()
        self.disk.lose_power(self._next.parent)
        for path in lives:
            if self.rng.random() < 0.5:
                (self._next.parent / path.name).touch()

    def _tidy_up(self) -> None:
        """Somebody deletes what looks like leavings, or puts a copy of a file in its place; or a crash left some."""
        path = sqlite_file_of(self._beside, self.boots)
        kind = self.rng.randrange(4)
        if kind == 0:
            _delete(path, self.disk)
            self.ledger.on_another_file(self.mono)
        elif kind == 1:
            _replace_by_copy(path, self.disk)
            self.ledger.on_another_file(self.mono)
        elif kind == 2:
            for life in self._beside.parent.glob("*.life-*"):
                life.unlink()
            self._are_lives_hidden = True
            self.ledger.on_lives_deleted()
            # Leases of the dead are back until they end, which nobody tells.
            for process in self._processes:
                process.seen = None
        else:
            self._beside.with_name(f"{self._beside.name}.life-{self._lives:016x}.{self._lives:08x}").touch()

    # -- what they do ------------------------------------------------------------------------------------------------

    def _turn(self, process: Process) -> None:
        name = self.rng.choice(LEASES)
        if self.rng.random() < 0.4:
            self._call(process, lambda: self._look(process))
        elif name not in process.held or self.rng.random() < 0.1:
            self._call(process, lambda: self._acquire(process, name))
        elif self.rng.random() < 0.1:
            self._call(process, lambda: self._release(process, name))
        else:
            self._call(process, lambda: self._renew(process, name))
        if self.rng.random() < 0.3:
            self._hear(process)

    def _call(self, process: Process, work: Callable[[], None]) -> None:
        if process.is_busy or process.files.is_dead:
            return
        process.is_busy = True
        self._running.append(process)
        apsw.set_default_vfs(process.files.name)
        try:
            work()
        except StoreUnreachable:
            pass
        except (DiskFailed, Gone, apsw.IOError, apsw.FullError):
            # The broker stops.
            process.files.is_dead = True
        finally:
            process.is_busy = False
            self._running.pop()
            apsw.set_default_vfs(self._running[-1].files.name if self._running else "unix")

    def _acquire(self, process: Process, name: str) -> None:
        assert process.leases is not None
        held = process.held.get(name)
        self._epochs += 1
        # One that it had already, or an older one: of a restart that another restart has overtaken.
        epoch = self._epochs if held is None or self.rng.random() < 0.5 else held.epoch - self.rng.randrange(2)
        lease = Lease(name, f"dir {process.number}", epoch, TTL_MS)
        process.had[lease] = None
        asked = process.opened_at = self.mono
        end_before = self.ledger.on_asking(lease)
        try:
            process.leases.acquire(lease)
        except LeaseHeld:
            return
        finally:
            self.ledger.on_asked(lease, end_before, process.read_at + TTL_MS / 1000)
        if not process.files.is_dead:
            process.held[name] = lease
            self.ledger.on_acquired(lease, held, asked, self.mono)
            if held is not None and held != lease:
                self.ledger.on_given_up(held)

    def _renew(self, process: Process, name: str) -> None:
        assert process.leases is not None
        lease = process.held[name]
        asked = process.opened_at = self.mono
        end_before, jumps, process.wrote_at = self.ledger.on_asking(lease), self._jumps, 0.0
        try:
            process.leases.renew(lease)
        except LeaseLost:
            if not process.files.is_dead:
                del process.held[name]
                if jumps == self._jumps:
                    self.ledger.on_lost(lease, asked, self.mono)
                self.ledger.on_given_up(lease)
            return
        finally:
            self.ledger.on_asked(lease, end_before, process.read_at + TTL_MS / 1000)
        if not process.files.is_dead:
            # SQLite's clock is the wall's: set back while the renewal waits, it cannot tell.
            wrote = process.wrote_at if jumps == self._jumps else 0.0
            self.ledger.on_renewed(lease, end_before, asked, wrote, self.mono)

    def _release(self, process: Process, name: str) -> None:
        assert process.leases is not None
        lease = process.held.pop(name)
        asked = self.mono
        self.ledger.on_given_up(lease)
        process.leases.release(lease)
        if not process.files.is_dead and self.ledger.is_of_this_file(min(asked, process.opened_at)):
            self.ledger.on_gone(lease)

    def _look(self, process: Process) -> None:
        assert process.leases is not None
        before, asked = self.ledger.believed(), self.mono
        seen = process.leases.live()
        if not process.files.is_dead:
            self.ledger.on_seen(seen, before, asked, self.mono, process.opened_at)

    def _hear(self, process: Process) -> None:
        """In one moment, in which nothing else happens: else what it heard would be old when it looks."""
        before, self._is_quiet = self._is_quiet, True
        try:
            self._call(process, lambda: self._hear_quietly(process))
        finally:
            self._is_quiet = before

    def _hear_quietly(self, process: Process) -> None:
        assert process.leases is not None
        before, process.seen = process.seen, None
        has_news = process.leases.has_changed()
        seen = process.leases.live()
        if not has_news and before is not None and seen != before:
            raise Broken("told", f"{seen} is news after {before}, and nothing was said of it")
        process.seen = seen

    # -- what happens to them ----------------------------------------------------------------------------------------

    def _pass(self, seconds: float) -> None:
        self.mono += seconds
        self.wall += seconds

    def _sleep(self, seconds: float) -> None:
        self._pass(seconds)
        if self._running:
            self.on_step(self._running[-1].files, "sleep")

    def _wall_of_process(self) -> float:
        self.on_step(self._running[-1].files, "clock")
        wall = self.wall
        self.on_step(self._running[-1].files, "clock")
        return wall

    def _flock(self, fd: int, operation: int) -> None:
        # Asking is left alone: in which order lives are asked for depends on names that no seed decides.
        if operation == process_life.fcntl.LOCK_EX:
            self.on_step(self._running[-1].files, "flock")
            if self._running[-1].files.is_dead:
                raise Gone
        _FLOCK(fd, operation)

    def on_step(self, files: Files, what: str) -> None:
        process = self._running[-1]
        if what == "write" and not process.wrote_at:
            process.wrote_at = self.mono
        if self._is_quiet or self._has_lost_power:
            return
        chance = self.rng.random()
        self._pass(self.rng.choice((0.0, 0.001, 0.02)) if chance > 0.01 else self.rng.uniform(0.5, 4.0))
        if chance < 0.011:
            self._jump()
        elif chance < 0.0125:
            self._lose_power()
        elif chance < 0.018:
            files.is_dead = True
        elif chance < 0.02 and what == "write":
            raise apsw.IOError("the disk failed")
        elif chance < 0.03 and what == "write":
            raise apsw.FullError("the disk is full")
        elif chance < 0.2:
            self._turn(self.rng.choice(self._processes))

    def _jump(self) -> None:
        self._jumps += 1
        self.wall += self.rng.choice((-1, 1)) * self.rng.choice((1.0, 3600.0, 9 * 86_400.0))


_FLOCK: Final = process_life.fcntl.flock


def sqlite_file_of(beside: Path, boot: int) -> Path:
    return beside.with_name(f"{beside.name}.leases-boot-{boot}")


def _has_life_file(leases: SqliteLeases) -> bool:
    return process_life._is_at(leases._life._fd, leases._life._path)


def _delete(path: Path, disk: Disk) -> None:
    for suffix in ("-shm", "-wal", ""):
        each = path.with_name(path.name + suffix)
        each.unlink(missing_ok=True)
        disk.delete(str(each))


def _replace_by_copy(path: Path, disk: Disk) -> None:
    """Of this moment: who held a lease holds it there too."""
    if not path.exists():
        return
    copy = path.with_name("copy")
    copy.unlink(missing_ok=True)
    try:
        db = apsw.Connection(str(path), vfs="unix")
        db.execute("VACUUM INTO ?", (str(copy),))
        db.close()
    except apsw.Error:
        return
    _delete(path, disk)
    copy.rename(path)


def run_sqlite_lease_storm(seed: int) -> StoreOutcome:
    with tempfile.TemporaryDirectory(prefix="lease-storm-") as folder:
        return LeaseStorm(seed, Path(folder)).play()
