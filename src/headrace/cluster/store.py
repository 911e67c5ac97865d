"""The port of the metadata store: a small, strongly consistent map with revisions, a watch, and leases.

Every commit has a revision, higher than any before it; there may be gaps. A commit is all or nothing and compares the
keys it depends on, not one global revision. Leases are apart from the map: they say who is alive, never why a write is
safe (epochs and comparisons do that), so an adapter may keep them where a renewal does not wait behind the map's disk
syncs.

Every call either answers within the adapter's deadline or raises `StoreUnreachable`. After that the outcome of a commit
is unknown: it may still land, so read back before deciding again. A store that was restored from an older copy raises
`StoreWentBack` to a caller that had seen more.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol

from headrace.base.errors import UserError

OPERATIONS_MAX: Final = 100
"""The most puts, and the most expectations, of one commit: etcd refuses more than 128."""

ABSENT: Final = 0
"""The expected revision of a key that must not exist."""

FIRST: Final = -1
"""The expected revision that stands for the one given to the first commit of the same list. See `commit_all`."""


class Entry(NamedTuple):
    value: bytes
    revision: int
    """The revision of the commit that last wrote the key."""


class Change(NamedTuple):
    key: str
    value: bytes | None
    revision: int


class Snapshot(NamedTuple):
    revision: int
    entries: Mapping[str, Entry]

    def changes(self) -> Iterator[Change]:
        """The changes that lead from an empty map to this snapshot."""
        return (Change(key, value, revision) for key, (value, revision) in self.entries.items())


class Changes(NamedTuple):
    """The changes up to `revision`: whole commits only, oldest first."""

    revision: int
    changes: tuple[Change, ...]


class Commit(NamedTuple):
    puts: Mapping[str, bytes | None]
    """None deletes."""
    expect: Mapping[str, int]
    """The revision each key must have at this moment."""


class Lease(NamedTuple):
    """A name that one holder has until it stops renewing. The epoch tells one tenure of a holder from the next."""

    name: str
    holder: str
    epoch: int
    ttl_ms: int


class Conflict(Exception):
    """A commit whose expected revisions do not all hold; nothing was written. Look again and decide again."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = tuple(keys)
        super().__init__(f"changed by someone else: {', '.join(self.keys)}")


class Compacted(Exception):
    """The store no longer remembers what followed the revision. Load, and watch from there."""


class StoreWentBack(UserError):
    """The store is behind an answer it gave before: it was restored from an older copy, under running brokers.

    Later commits are gone, and with them this broker's knowledge: it stops, and starts again with the restored map.
    """

    def __init__(self, where: object, told: int, found: int) -> None:
        super().__init__(
            f"{where} has gone back from revision {told} to {found}: it was restored from an older copy while brokers ran",
            "Stop all brokers of the cluster and start them again: docs/etcd.md, Restoring.",
        )


class LeaseHeld(Exception):
    """Another holder has the lease, and it has not run out."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"{lease.name} is held by {lease.holder}")
        self.lease = lease


class LeaseLost(Exception):
    """The lease ran out or someone took it over: its holder is fenced, and must not act on it any more."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(f"{lease.holder} no longer holds {lease.name}")
        self.lease = lease


class MetaStore(Protocol):
    async def load(self) -> Snapshot: ...

    def watch(self, after: int) -> AsyncIterator[Changes]:
        """Yields every key that changes after a revision, in order; raises `Compacted` when that is too long ago.

        Several writes of one key that a slow watcher has not seen yet may arrive as the last of them.
        """
        ...

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        """Commits and returns the new revision, or raises `Conflict`. At most `OPERATIONS_MAX` puts and expectations
        each."""
        ...

    async def acquire(self, name: str, holder: str, epoch: int, ttl_ms: int) -> Lease:
        """Takes a lease that is free or has run out, or one of the same holder under a higher epoch; else `LeaseHeld`.

        The same holder may step over itself because it restarts faster than its lease runs out: processes that share a
        holder name must already exclude each other by other means, as the lock on a data directory does.
        """
        ...

    async def renew(self, lease: Lease) -> None:
        """Holds a lease for another `ttl_ms`, or raises `LeaseLost`. One that has run out cannot be renewed, taken over
        or not."""
        ...

    async def release(self, lease: Lease) -> None:
        """Gives a lease up at once. Nothing happens if it was lost already."""
        ...

    async def leases(self) -> Mapping[str, Lease]:
        """The leases that have not run out, by name."""
        ...

    def watch_leases(self) -> AsyncIterator[Mapping[str, Lease]]:
        """Yields the leases that have not run out: now, and again at every change. A renewal is no change."""
        ...

    async def close(self) -> None: ...


async def commit_all(store: MetaStore, commits: Iterable[Commit]) -> int:
    """Makes the commits of one change, in their order; returns the last revision.

    An expectation of `FIRST` becomes the revision of the first commit: so the last commit of a long creation can tell
    that nobody swept away what the first one wrote.
    """
    first = revision = 0
    for puts, expect in commits:
        known = {key: first if wanted == FIRST else wanted for key, wanted in expect.items()}
        revision = await store.commit(puts, known)
        first = first or revision
    return revision


def check_size(puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> None:
    """Raises for a commit over the limit, the same in every adapter: a commit that works on one host works on many."""
    size = max(len(puts), len(expect))
    assert size <= OPERATIONS_MAX, f"a commit of {size} operations, at most {OPERATIONS_MAX} are allowed"
    assert min(expect.values(), default=ABSENT) >= ABSENT, f"no revision was ever {min(expect.values())}: {expect}"


def check_committed(revision: int, expect: Mapping[str, int]) -> int:
    """The revision of a commit: the same in every adapter, none of its keys was written after it."""
    assert revision >= max(expect.values(), default=ABSENT), (revision, expect)
    return revision


def check_loaded(snapshot: Snapshot) -> Snapshot:
    """The map as it was read: the same in every adapter, no entry is newer than the whole."""
    newest = max((entry.revision for entry in snapshot.entries.values()), default=ABSENT)
    assert newest <= snapshot.revision, (newest, snapshot.revision)
    return snapshot


def check_followed(after: int, changes: Changes) -> Changes:
    """The next word of a watch: the same in every adapter, newer than what it said before, and in order."""
    newest = after
    for change in changes.changes:
        assert after < change.revision and newest <= change.revision <= changes.revision, (after, newest, changes)
        newest = change.revision
    assert after < changes.revision, (after, changes.revision)
    return changes
