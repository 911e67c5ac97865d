"""Storms over the SQLite map: some processes on one file, on a disk that fails, fills up and loses power at any step.

One thread, so a seed tells one story: at any write or sync of one process another may get its turn, which is all that
real processes could do to each other. `store_history` judges.
"""

import random
import tempfile
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import apsw

from headrace.base.errors import DiskFailed, StoreUnreachable
from headrace.cluster.store import ABSENT, Compacted, Conflict
from headrace.stores import sqlite_file
from headrace.stores.sqlite_map import SqliteMap
from sim.checks import Breach
from sim.etcd_storms import KEYS, StoreOutcome
from sim.sqlite_disk import Disk, Files
from sim.store_history import Broken, History, Watcher

STEPS = 150


class Process:
    def __init__(self, files: Files, path: Path) -> None:
        self.files = files
        self.map = SqliteMap(path, 0.0, tombstones_max=10)
        self.watcher: Watcher | None = None
        self.is_busy = False

    def die(self) -> None:
        """Nothing more of it reaches the disk; its locks are free."""
        self.files.is_dead = True
        with suppress(apsw.Error, DiskFailed):
            self.map.close()


class SqliteStorm:
    def __init__(self, seed: int, folder: Path) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.history = History()
        self.history.sees_all = True
        self._disk = Disk(self.rng)
        self._folder = folder
        self._lives = 0
        self._boots = 0
        self._path = self._new_folder()
        self._processes: list[Process] = []
        self._next_path = self._path
        self._is_calm = False
        self._has_lost_power = False

    def play(self) -> StoreOutcome:
        breach: Breach | None = None
        random.seed(self.seed)
        try:
            with patch.object(sqlite_file, "BUSY_TIMEOUT_MS", 0):
                self._story()
        except Broken as broken:
            breach = broken.breach
        except Exception as error:
            breach = Breach("no-bug", repr(error))
        self._is_calm = True
        for process in self._processes:
            process.die()
        return StoreOutcome(self.seed, breach, self.history.acked)

    def _story(self) -> None:
        for _ in range(STEPS):
            self._keep_running()
            self._turn(self.rng.choice(self._processes))
            self._bury()
            self._look()
        self._is_calm = True
        self._lose_power()
        self._bury()
        self._keep_running()
        self.history.check(self._processes[0].map.load())

    def _look(self) -> None:
        if self._processes:
            with suppress(StoreUnreachable, DiskFailed):
                self.history.on_seen(self._processes[0].map.load())

    def _new_folder(self) -> Path:
        self._boots += 1
        folder = self._folder / f"boot-{self._boots}"
        folder.mkdir()
        return folder / "metadata.sqlite"

    # -- processes -----------------------------------------------------------------------------------------------------

    def _keep_running(self) -> None:
        while len(self._processes) < 3:
            self._lives += 1
            files = Files(f"sim-{self.seed}-{self._lives}", self._disk, self._on_step)
            try:
                process = Process(files, self._path)
            except (DiskFailed, StoreUnreachable, apsw.IOError, apsw.FullError):
                files.is_dead = True
            else:
                self._processes.append(process)
                self._turn_safely(process, self._load)
            finally:
                apsw.set_default_vfs("unix")
            self._bury()

    def _bury(self) -> None:
        if self._has_lost_power:
            self._has_lost_power = False
            for process in self._processes:
                process.die()
            self._path = self._next_path
        for process in [each for each in self._processes if each.files.is_dead]:
            process.die()
            self._processes.remove(process)

    # -- what they do --------------------------------------------------------------------------------------------------

    def _turn(self, process: Process) -> None:
        work = self.rng.choices((self._commit, self._load, self._follow), (6, 1, 3))[0]
        self._turn_safely(process, work)

    def _turn_safely(self, process: Process, work) -> None:  # type: ignore[no-untyped-def]
        if process.is_busy or process.files.is_dead:
            return
        process.is_busy = True
        try:
            work(process)
        except StoreUnreachable:
            pass
        except DiskFailed:
            # The broker stops.
            process.files.is_dead = True
        finally:
            process.is_busy = False

    def _load(self, process: Process) -> None:
        snapshot = process.map.load()
        if process.files.is_dead:
            return
        self.history.on_seen(snapshot)
        if process.watcher is None:
            process.watcher = self.history.watch(snapshot)
        elif snapshot.revision < process.watcher.revision:
            raise Broken("watch", f"a load at {snapshot.revision} after {process.watcher.revision}")
        else:
            process.watcher.map, process.watcher.revision = dict(snapshot.entries), snapshot.revision

    def _follow(self, process: Process) -> None:
        if process.watcher is None:
            return self._load(process)
        try:
            changes = process.map.changes_after(process.watcher.revision)
        except Compacted:
            return self._load(process)
        if changes is not None and not process.files.is_dead:
            process.watcher.on_changes(changes)
            for change in changes.changes:
                self.history.on_value(change.value, change.revision)
        return None

    def _commit(self, process: Process) -> None:
        if process.watcher is None:
            return self._load(process)
        rng, known = self.rng, process.watcher.map
        keys = rng.sample(KEYS, 3)
        expect = {key: known[key].revision if key in known else ABSENT for key in keys[: rng.randrange(4)]}
        attempt = self.history.begin(keys[:1], keys[1:2] if rng.random() < 0.4 else [], expect)
        try:
            revision = process.map.commit(attempt.puts, expect)
        except Conflict:
            return self.history.on_refused(attempt)
        if not process.files.is_dead:
            self.history.on_acked(attempt, revision)
        return None

    # -- what happens to them ------------------------------------------------------------------------------------------

    def _on_step(self, files: Files, what: str) -> None:
        if self._is_calm:
            return
        chance = self.rng.random()
        if chance < 0.002:
            # One that is only starting is not among them yet.
            files.is_dead = True
            self._lose_power()
        elif chance < 0.01:
            files.is_dead = True
        elif chance < 0.013:
            raise apsw.IOError("the disk failed")
        elif chance < 0.02 and what == "write":
            raise apsw.FullError("the disk is full")
        elif chance < 0.12 and self._processes:
            self._turn(self.rng.choice(self._processes))

    def _lose_power(self) -> None:
        if self._has_lost_power:
            return
        self._has_lost_power = True
        for process in self._processes:
            process.files.is_dead = True
        self._next_path = self._new_folder()
        self._disk.lose_power(self._next_path.parent)


def run_sqlite_storm(seed: int) -> StoreOutcome:
    with tempfile.TemporaryDirectory(prefix="sqlite-storm-") as folder:
        return SqliteStorm(seed, Path(folder)).play()
