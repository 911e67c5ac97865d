"""The map of the metadata store in one SQLite file: the newest value of every key, and the revision that wrote it.

A deleted key stays as a tombstone, so that "what changed after revision R" is one query on an index. Tombstones are
bounded: when the oldest are dropped, `floor` says below which revision that query can no longer be answered.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import apsw

from headrace.base.errors import UserError
from headrace.cluster.store import Change, Changes, Compacted, Conflict, Entry, Snapshot, StoreWentBack
from headrace.stores.sqlite_file import FileLayout, SqliteFile

TOMBSTONES_MAX: Final = 10_000

_LAYOUT: Final = FileLayout(
    application_id=0x48524D31,
    format_version=1,
    schema="""
        CREATE TABLE head (revision INTEGER NOT NULL, floor INTEGER NOT NULL);
        INSERT INTO head VALUES (0, 0);
        CREATE TABLE entries (key TEXT PRIMARY KEY, value BLOB, revision INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX entries_by_revision ON entries (revision);
        CREATE INDEX tombstones ON entries (revision) WHERE value IS NULL;
    """,
    synchronous="FULL",
)


class SqliteMap:
    def __init__(self, path: Path, deadline_s: float, tombstones_max: int = TOMBSTONES_MAX) -> None:
        self._file = SqliteFile(path, _LAYOUT, deadline_s)
        self._tombstones_max = tombstones_max
        self._data_version: object = None
        self._told = 0

    def load(self) -> Snapshot:
        rows = self._select(
            "SELECT head.revision, key, value, e.revision FROM head LEFT JOIN entries e ON value IS NOT NULL"
        )
        entries = {key: Entry(value, revision) for _, key, value, revision in rows if key is not None}
        return Snapshot(self._tell(rows[0][0]), entries)

    def _tell(self, revision: int) -> int:
        """The newest revision; `StoreWentBack` if a newer one was told before."""
        if revision < self._told:
            raise StoreWentBack(self._file.path, self._told, revision)
        self._told = revision
        return revision

    def _stay(self) -> None:
        if not self._file.is_in_place():
            raise UserError(
                f"{self._file.path} (or its -wal or -shm) was removed or replaced while this broker ran",
                "Stop all brokers of this host, put the file back if it is gone, start them again: docs/etcd.md, Restoring.",
            )

    def has_changed(self) -> bool:
        """Whether another process has committed since the last call: SQLite's own counter, a few microseconds."""
        self._file.look_for_frozen_writer()
        self._stay()
        before, self._data_version = self._data_version, self._file.read(lambda db: db.pragma("data_version"))
        return self._data_version != before

    def changes_after(self, after: int) -> Changes | None:
        self._stay()
        self._told = max(self._told, after)
        rows = self._select(
            "SELECT head.revision, floor, key, value, e.revision FROM head "
            "LEFT JOIN entries e ON e.revision > ? ORDER BY e.revision",
            after,
        )
        revision, floor = self._tell(rows[0][0]), rows[0][1]
        if floor > after:
            raise Compacted(f"revision {after} is no longer remembered")
        changes = tuple(Change(*row[2:]) for row in rows if row[2] is not None)
        return Changes(revision, changes) if changes else None

    def _select(self, query: str, *args: int) -> list[Any]:
        """The rows of one statement, which sees one moment. The first is always of `head`, even where nothing is found."""
        return self._file.read(lambda db: db.execute(query, args).fetchall())

    def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        # The counter leaves out our own commits, so one whose caller gave up waiting would reach no watcher.
        self._data_version = None
        self._stay()
        return self._tell(self._file.write(lambda db: self._commit(db, puts, expect)))

    def _commit(self, db: apsw.Connection, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        wrong = [key for key, wanted in expect.items() if _revision_of(db, key) != wanted]
        if wrong:
            raise Conflict(wrong)
        revision = self._tell(int(db.execute("SELECT revision FROM head").get))
        if not puts:
            return revision
        assert all(wanted <= revision for wanted in expect.values()), (revision, expect)
        revision += 1
        db.executemany(
            "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)", [(key, value, revision) for key, value in puts.items()]
        )
        db.execute("UPDATE head SET revision = ?", (revision,))
        assert db.changes() == 1, f"{self._file.path} has {db.changes()} heads"
        if None in puts.values():
            self._trim(db, revision)
        return revision

    def _trim(self, db: apsw.Connection, revision: int) -> None:
        """Drops half of the tombstones at a time, so that it happens seldom; never the newest, which a watcher may need."""
        count = db.execute("SELECT count(*) FROM entries WHERE value IS NULL").get
        if count <= self._tombstones_max:
            return
        floor = db.execute(
            "SELECT revision FROM entries WHERE value IS NULL ORDER BY revision LIMIT 1 OFFSET ?", (count // 2,)
        ).get
        floor = min(floor, revision - 1)
        db.execute("DELETE FROM entries WHERE value IS NULL AND revision <= ?", (floor,))
        db.execute("UPDATE head SET floor = ?", (floor,))

    def close(self) -> None:
        self._file.close()


def _revision_of(db: apsw.Connection, key: str) -> int:
    return int(db.execute("SELECT revision FROM entries WHERE key = ? AND value IS NOT NULL", (key,)).get or 0)
