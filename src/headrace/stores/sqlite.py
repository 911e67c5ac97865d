"""The metadata store of one host: any number of broker processes on one SQLite file, nothing to install.

    event loop --> lane "metadata"         --> SqliteMap      metadata.sqlite            synced at every commit
               --> lane "metadata leases"  --> SqliteLeases   metadata.sqlite.leases-…   never synced

Two threads, so that a renewal never waits behind a commit's disk sync. Watching is polling: SQLite tells nobody when
another process commits, and asking costs microseconds. Our own commits wake our watchers at once.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final

from headrace.base.boot import boot_id
from headrace.base.clock import Clock, SystemClock
from headrace.cluster.store import Changes, Lease, Snapshot, check_size
from headrace.stores.lane import Lane
from headrace.stores.sqlite_leases import SqliteLeases
from headrace.stores.sqlite_map import TOMBSTONES_MAX, SqliteMap

DEADLINE_S: Final = 5.0
POLL_S: Final = 0.025


class SqliteStore:
    def __init__(self, map_lane: Lane, lease_lane: Lane, map_: SqliteMap, leases: SqliteLeases, poll_s: float) -> None:
        self._map_lane = map_lane
        self._lease_lane = lease_lane
        self._map = map_
        self._leases = leases
        self._poll_s = poll_s
        self._map_watchers: dict[asyncio.Event, None] = {}
        self._lease_watchers: dict[asyncio.Event, None] = {}

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
        """Made if it does not exist; `UserError` if it is not ours, damaged, or of another version."""
        # The file's own patience ends before the lane's, so that its message, which names the file, is the one seen.
        patience_s = deadline_s * 0.9
        map_lane, lease_lane = Lane("metadata", deadline_s), Lane("metadata leases", deadline_s)
        map_ = await map_lane.run(SqliteMap, path, patience_s, tombstones_max)
        try:
            leases = await lease_lane.run(SqliteLeases, path, boot_id(), clock or SystemClock(), patience_s)
        except BaseException:
            await map_lane.close(map_.close)
            raise
        return cls(map_lane, lease_lane, map_, leases, poll_s)

    async def load(self) -> Snapshot:
        return await self._map_lane.run(self._map.load)

    async def watch(self, after: int) -> AsyncIterator[Changes]:
        woken = asyncio.Event()
        self._map_watchers[woken] = None
        try:
            while True:
                woken.clear()
                changes = await self._map_lane.run(self._map.changes_after, after)
                if changes is None:
                    await self._wait(woken)
                else:
                    after = changes.revision
                    yield changes
        finally:
            del self._map_watchers[woken]

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        check_size(puts, expect)
        revision = await self._map_lane.run(self._map.commit, puts, expect)
        _wake(self._map_watchers)
        return revision

    async def acquire(self, name: str, holder: str, epoch: int, ttl_ms: int) -> Lease:
        lease = await self._lease_lane.run(self._leases.acquire, Lease(name, holder, epoch, ttl_ms))
        _wake(self._lease_watchers)
        return lease

    async def renew(self, lease: Lease) -> None:
        await self._lease_lane.run(self._leases.renew, lease)

    async def release(self, lease: Lease) -> None:
        await self._lease_lane.run(self._leases.release, lease)
        _wake(self._lease_watchers)

    async def leases(self) -> Mapping[str, Lease]:
        return await self._lease_lane.run(self._leases.live)

    async def watch_leases(self) -> AsyncIterator[Mapping[str, Lease]]:
        woken = asyncio.Event()
        self._lease_watchers[woken] = None
        seen: Mapping[str, Lease] | None = None
        try:
            while True:
                woken.clear()
                live = await self.leases()
                if live == seen:
                    await self._wait(woken)
                else:
                    seen = live
                    yield live
        finally:
            del self._lease_watchers[woken]

    async def _wait(self, woken: asyncio.Event) -> None:
        try:
            async with asyncio.timeout(self._poll_s):
                await woken.wait()
        except TimeoutError:
            pass

    async def close(self) -> None:
        await self._map_lane.close(self._map.close)
        await self._lease_lane.close(self._leases.close)


def _wake(watchers: Mapping[asyncio.Event, None]) -> None:
    for woken in watchers:
        woken.set()
