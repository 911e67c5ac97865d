"""Rules of the SQLite map, each taken away: storms must notice."""

from contextlib import nullcontext

from pytest import MonkeyPatch

from headrace.stores import sqlite_file, sqlite_map
from headrace.stores.sqlite_map import SqliteMap


def commits_are_not_synced(patch: MonkeyPatch) -> None:
    patch.setattr(sqlite_map, "_LAYOUT", sqlite_map._LAYOUT._replace(synchronous="NORMAL"))


def nothing_is_synced(patch: MonkeyPatch) -> None:
    patch.setattr(sqlite_map, "_LAYOUT", sqlite_map._LAYOUT._replace(synchronous="OFF"))


def commits_compare_nothing(patch: MonkeyPatch) -> None:
    commit = SqliteMap._commit
    patch.setattr(SqliteMap, "_commit", lambda self, db, puts, expect: commit(self, db, puts, {}))


def commits_are_no_transactions(patch: MonkeyPatch) -> None:
    patch.setattr(sqlite_file, "_immediate", lambda db: nullcontext())


SQLITE_TEETH = {
    commits_are_not_synced: ("no-commit-lost", "in-order", "done-once"),
    nothing_is_synced: ("no-commit-lost", "in-order", "done-once", "no-bug"),
    commits_compare_nothing: ("compare",),
    commits_are_no_transactions: ("done-once", "in-order", "watch", "no-commit-lost", "compare", "no-bug"),
}
