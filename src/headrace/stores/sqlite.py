"""The metadata store of one host: any number of broker processes on one SQLite file, nothing to install.

    event loop --> lane "metadata"         --> SqliteMap      metadata.sqlite            synced at every commit
               --> lane "metadata leases"  --> SqliteLeases   metadata.sqlite.leases-…   never synced

Two threads, so that a renewal never waits behind a commit's disk sync. Watching is polling, in those threads: SQLite
tells nobody when another process commits, and asking costs microseconds. Our own commits wake our watchers at once.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from headrace.base.clock import Clock
from headrace.base.system_clock import SystemClock
from headrace.cluster.store import Changes, Lease, Snapshot, check_committed, check_followed, check_loaded, check_size
from headrace.stores.lane import StoreLane
from headrace.stores.sqlite_leases import SqliteLeases
from headrace.stores.sqlite_map import TOMBSTONES_MAX, SqliteMap

DEADLINE_S: Final = 5.0
POLL_S: Final = 0.05


class SqliteStore:
    def __init__(self, map_lane: StoreLane, lease_lane: StoreLane, map_: SqliteMap, leases: SqliteLeases) -> None:
        self._map_lane = map_lane
        self._lease_lane = lease_lane
        self._map = map_
        self._leases = leases
        map_lane.look_with(map_.has_changed)
        lease_lane.look_with(leases.has_changed)

    @classmethod
    async def open(
        cls,
        path: Path,
        clock: Clock | None = None,
        *,
        deadline_s: float = DEADLINE_S,
        poll_s: float = POLL_S,
        tombstones_max: int = TOMBSTONES_MAX,
    ) -> "SqliteStore":
        """Opens the store at a path, new or not; `UserError` if it is not ours, damaged, or of another version."""
        # The file's own patience ends before the lane's, so that its message, which names the file, is the one seen.
        patience_s = deadline_s * 0.9
        map_lane, lease_lane = (
            StoreLane("metadata", deadline_s, poll_s),
            StoreLane("metadata leases", deadline_s, poll_s),
        )
        try:
            map_ = await map_lane.run(SqliteMap, path, patience_s, tombstones_max)
            try:
                leases = await lease_lane.run(SqliteLeases, path, clock or SystemClock(), patience_s)
            except BaseException:
                await map_lane.run(map_.close)
                raise
        except BaseException:
            await map_lane.close(_nothing)
            await lease_lane.close(_nothing)
            raise
        return cls(map_lane, lease_lane, map_, leases)

    async def load(self) -> Snapshot:
        return check_loaded(await self._map_lane.run(self._map.load))

    async def watch(self, after: int) -> AsyncIterator[Changes]:
        woken = asyncio.Event()
        self._map_lane.add_watcher(woken)
        try:
            while True:
                woken.clear()
                changes = await self._map_lane.run(self._map.changes_after, after)
                if changes is None:
                    await woken.wait()
                else:
                    check_followed(after, changes)
                    after = changes.revision
                    yield changes
        finally:
            self._map_lane.remove_watcher(woken)

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        check_size(puts, expect)
        revision = await self._map_lane.run(self._map.commit, puts, expect)
        self._map_lane.wake()
        return check_committed(revision, expect)

    async def acquire(self, name: str, holder: str, epoch: int, ttl_ms: int) -> Lease:
        lease = await self._lease_lane.run(self._leases.acquire, Lease(name, holder, epoch, ttl_ms))
        self._lease_lane.wake()
        return lease

    async def renew(self, lease: Lease) -> None:
        await self._lease_lane.run(self._leases.renew, lease)

    async def release(self, lease: Lease) -> None:
        await self._lease_lane.run(self._leases.release, lease)
        self._lease_lane.wake()

    async def leases(self) -> Mapping[str, Lease]:
        return await self._lease_lane.run(self._leases.live)

    async def watch_leases(self) -> AsyncIterator[Mapping[str, Lease]]:
        woken = asyncio.Event()
        self._lease_lane.add_watcher(woken)
        seen: Mapping[str, Lease] | None = None
        try:
            while True:
                woken.clear()
                live = await self.leases()
                if live == seen:
                    await woken.wait()
                else:
                    seen = live
                    yield live
        finally:
            self._lease_lane.remove_watcher(woken)

    async def close(self) -> None:
        await self._map_lane.close(self._map.close)
        await self._lease_lane.close(self._leases.close)


def _nothing() -> None:
    pass
