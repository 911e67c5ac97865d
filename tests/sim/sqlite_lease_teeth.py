"""Rules of the SQLite leases, each taken away: storms must notice."""

import os
from pathlib import Path

from pytest import MonkeyPatch

from headrace.stores import process_life, sqlite_leases
from headrace.stores.sqlite_file import SqliteFile
from headrace.stores.sqlite_leases import SqliteLeases
from sim.mutant import edit
from sim.sqlite_lease_storms import Process, sqlite_file_of


def leases_are_taken_without_a_look(patch: MonkeyPatch) -> None:
    edit(patch, SqliteLeases.acquire, ("held = self._live(db, mono).get(lease.name)", "held = None"))


def ones_own_leases_are_taken_without_a_look(patch: MonkeyPatch) -> None:
    edit(patch, SqliteLeases.acquire, (" or held.epoch >= lease.epoch", ""))


def a_wait_for_the_lock_takes_no_time(patch: MonkeyPatch) -> None:
    edit(patch, SqliteLeases.renew, (" AND ends > unixepoch('subsec') - ?", " AND 0 < ?"))


def clocks_are_read_the_other_way_round(patch: MonkeyPatch) -> None:
    """As they were until these storms."""
    clocks = "wall = time.time()", "mono = self._clock.now().mono"
    edit(patch, SqliteLeases.renew, ("\n    ".join(clocks), "\n    ".join(reversed(clocks))))


def a_file_that_was_deleted_is_used_on(patch: MonkeyPatch) -> None:
    patch.setattr(SqliteFile, "is_in_place", lambda self: True)


def the_boot_does_not_matter(patch: MonkeyPatch) -> None:
    patch.setattr(Process, "boot_id", lambda self: "boot-0")
    patch.setitem(sqlite_file_of.__globals__, "sqlite_file_of", lambda beside, boot: _file_of(beside))


def _file_of(beside: Path) -> Path:
    return beside.with_name(f"{beside.name}.leases-boot-0")


def the_dead_are_waited_for(patch: MonkeyPatch) -> None:
    patch.setattr(sqlite_leases, "is_over", lambda beside, token: False)


def deaths_are_told_once(patch: MonkeyPatch) -> None:
    """As it was until these storms: who asks in between keeps the news from the watchers."""
    edit(patch, SqliteLeases._live, ("self._next_end = 0.0", "pass"))


def a_life_is_locked_under_its_name(patch: MonkeyPatch) -> None:
    def late(path: Path) -> int:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        process_life.fcntl.flock(fd, process_life.fcntl.LOCK_EX)
        return fd

    patch.setattr(process_life, "_locked_file", late)


LEASE_TEETH = {
    leases_are_taken_without_a_look: ("one-holder",),
    ones_own_leases_are_taken_without_a_look: ("rising", "one-holder"),
    a_wait_for_the_lock_takes_no_time: ("renewed-or-lost",),
    clocks_are_read_the_other_way_round: ("renewed-or-lost",),
    a_file_that_was_deleted_is_used_on: ("one-holder", "alive-is-seen"),
    the_boot_does_not_matter: ("dead-is-seen", "no-bug"),
    the_dead_are_waited_for: ("dead-is-seen",),
    deaths_are_told_once: ("told",),
    a_life_is_locked_under_its_name: ("alive-is-seen",),
}
