"""Opening a SQLite file of ours, and transactions on it. Synchronous: for the one thread that owns the connection.

Only `BEGIN IMMEDIATE`: a transaction that starts as a reader and writes later can find that it must not. Several
processes share the file, so every transaction may find it busy and is tried again, after pauses of random length, until
the deadline; a process that was stopped in the midst of one is ended by the others (see `frozen_writer`). Nothing else
may open the file: closing a second descriptor would drop the locks of the first.
"""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import apsw

from headrace.base.errors import DiskFailed, StoreUnreachable, UserError
from headrace.base.other_format import other_format
from headrace.base.private_files import touch_new
from headrace.stores.frozen_writer import FrozenWriter

SQLITE_AT_LEAST: Final = (3, 51, 3)
"""Older ones can corrupt a WAL that several processes write to when one of them resets it."""

BUSY_TIMEOUT_MS: Final = 100

_Answer = TypeVar("_Answer")


class FileLayout(NamedTuple):
    """The format of one kind of file."""

    application_id: int
    format_version: int
    schema: str
    synchronous: str
    wal_pages: int = 1000
    """How long the log grows before it is folded in and begun anew; its file keeps that size, so that no commit needs
    more room from then on."""


def check_library(version: str = apsw.sqlite_lib_version()) -> None:
    if tuple(int(part) for part in version.split(".")) < SQLITE_AT_LEAST:
        needed = ".".join(map(str, SQLITE_AT_LEAST))
        raise UserError(
            f"SQLite {version} is too old: several brokers on one file need {needed}",
            "Install the apsw wheel, which carries its own SQLite: pip install --upgrade --only-binary apsw apsw",
        )


class SqliteFile:
    def __init__(self, path: Path, layout: FileLayout, deadline_s: float) -> None:
        check_library()
        self.path = path
        self._deadline_s = deadline_s
        self._frozen_writer = FrozenWriter(path)
        self._db = self._open(layout)
        self._opened = self._found()

    def is_in_place(self) -> bool:
        """Whether the file and its log are those under their names: not if somebody deleted or replaced one under us."""
        return self._found() == self._opened

    def _found(self) -> list[tuple[int, int] | None]:
        return [_identity(self.path.with_name(self.path.name + suffix)) for suffix in ("", "-wal", "-shm")]

    def _open(self, layout: FileLayout) -> apsw.Connection:
        with self._in_our_words():
            # Its log and its index get the same mode. What is wrong with the place SQLite says better.
            with suppress(OSError):
                touch_new(self.path)
            db = apsw.Connection(str(self.path))
        try:
            db.set_busy_timeout(BUSY_TIMEOUT_MS)
            self.patiently(lambda: self._prepare(db, layout))
        except BaseException:
            db.close()
            raise
        return db

    def _prepare(self, db: apsw.Connection, layout: FileLayout) -> None:
        # Before anything is changed: switching someone else's file to WAL would already be damage. In one read
        # transaction, since another broker may be setting the file up between two statements.
        with _transaction(db, "BEGIN"):
            self._check_owner(db, layout)
        db.pragma("journal_mode", "wal")
        db.pragma("synchronous", layout.synchronous)
        # For macOS, where a plain sync ends in the drive's cache; elsewhere without effect.
        db.pragma("fullfsync", 1)
        db.pragma("wal_autocheckpoint", layout.wal_pages)
        with _immediate(db):
            if self._check_owner(db, layout):
                return
            db.execute(layout.schema)
            db.pragma("application_id", layout.application_id)
            db.pragma("user_version", layout.format_version)

    def _check_owner(self, db: apsw.Connection, layout: FileLayout) -> bool:
        """Whether the file is set up; raises when it is not ours, or of another version. An empty file is nobody's."""
        owner, version = db.pragma("application_id"), db.pragma("user_version")
        if owner != layout.application_id:
            if owner or db.execute("SELECT count(*) FROM sqlite_schema").get:
                raise UserError(f"{self.path} is a SQLite file, but not one of Headrace's", "Choose another path.")
            return False
        if version != layout.format_version:
            raise other_format(str(self.path), version, layout.format_version)
        return True

    def look_for_frozen_writer(self) -> None:
        """Ends a frozen writer. Called often, so that nobody has to wait for its lock first."""
        self._frozen_writer.look(time.monotonic())

    def write(self, work: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Runs `work` in one transaction, perhaps more than once; an exception of `work` undoes it."""

        def attempt() -> _Answer:
            with _immediate(self._db):
                return work(self._db)

        return self.patiently(attempt)

    def write_at_once(self, statement: str, values: tuple[object, ...]) -> int:
        """Runs one statement as a transaction of its own; returns the number of rows changed.

        SQLite alone holds the lock, never while we wait for the interpreter, which a busy broker may do for long.
        """

        def attempt() -> int:
            self._db.execute(statement, values)
            return self._db.changes()

        return self.patiently(attempt)

    def read(self, work: Callable[[apsw.Connection], _Answer]) -> _Answer:
        """Runs `work` without a transaction: for one statement, which sees one moment anyway."""
        return self.patiently(lambda: work(self._db))

    def patiently(self, attempt: Callable[[], _Answer]) -> _Answer:
        deadline = time.monotonic() + self._deadline_s
        while True:
            try:
                with self._in_our_words():
                    return attempt()
            except (apsw.BusyError, apsw.LockedError) as busy:
                mono = time.monotonic()
                if mono >= deadline:
                    raise StoreUnreachable(f"{self.path} stayed locked for {self._deadline_s:g} s") from busy
                self._frozen_writer.look(mono)
            time.sleep(random.uniform(0.001, 0.02))

    @contextmanager
    def _in_our_words(self) -> Iterator[None]:
        try:
            yield
        except apsw.ConnectionClosedError as error:
            raise StoreUnreachable(f"{self.path} is not open") from error
        except apsw.FullError as error:
            # Not DiskFull: to its callers a store that takes no writes is one that does not answer, until it does.
            raise StoreUnreachable(f"no space left for {self.path}") from error
        except apsw.IOError as error:
            raise DiskFailed(f"{self.path}: {error}") from error
        except (apsw.NotADBError, apsw.CorruptError) as error:
            raise UserError(
                f"{self.path} is not a SQLite file, or is damaged: {error}",
                "Put a copy of it back, or begin a new cluster elsewhere with `headrace backup restore`. "
                "Do not delete it: it says which data is whose.",
            ) from error
        except (apsw.CantOpenError, apsw.ReadOnlyError, apsw.PermissionsError) as error:
            raise UserError(f"cannot open {self.path}: {error}", "Check that the folder exists and is ours.") from error

    def close(self) -> None:
        # What comes under its names from now on is another file, even one that has its inodes.
        self._opened = []
        self._db.close()


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _immediate(db: apsw.Connection) -> AbstractContextManager[None]:
    return _transaction(db, "BEGIN IMMEDIATE")


@contextmanager
def _transaction(db: apsw.Connection, begin: str) -> Iterator[None]:
    db.execute(begin)
    try:
        yield
    except BaseException:
        _roll_back(db)
        raise
    try:
        db.execute("COMMIT")
    except apsw.Error:
        _roll_back(db)
        raise


def _roll_back(db: apsw.Connection) -> None:
    # Some errors (a full disk) have rolled back by themselves.
    if db.in_transaction:
        db.execute("ROLLBACK")
