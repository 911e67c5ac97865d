"""Storms over the etcd adapter: real stores on a fake etcd that loses, delays and repeats, on virtual time.

Three brokers commit, follow and keep leases for some seconds while members hang, streams break, history is forgotten and
leaders change; then a calm, in which every watcher must arrive; then etcd is put back to an older state, and whoever has
seen more must be told. `store_history` judges.
"""

import asyncio
import base64
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from headrace.base.errors import StoreUnreachable
from headrace.cluster.store import ABSENT, Compacted, Conflict, Lease, LeaseHeld, LeaseLost, Snapshot, StoreWentBack
from headrace.stores import etcd_gateway, etcd_pages
from headrace.stores.etcd import EtcdStore
from sim.checks import Breach
from sim.fake_etcd import ETCD, FakeConnection, FakeEtcd, Faults
from sim.loop import Agenda, HostLoop
from sim.network import Network
from sim.store_history import Broken, History, Tenures, Watcher

HOSTS: Final = ("a", "b", "c")
STORM_S, CALM_S = 15.0, 20.0
KEYS: Final = tuple("klmn")
LEASES: Final = ("controller", "broker/1")
TTL_MS: Final = 2000


class StoreOutcome(NamedTuple):
    seed: int
    breach: Breach | None
    acks: int

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.breach or 'no breach'}, {self.acks} commits acknowledged"


class EtcdStorm:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = random.Random(seed)
        self.etcd = FakeEtcd(self.rng)
        self.history = History()
        self.tenures = Tenures()
        self.breach: Breach | None = None
        self.is_calm = False
        self._agenda = Agenda()
        network = Network(self._agenda, self.rng)
        self._loop = HostLoop("etcd", "10.0.0.1", self._agenda, network, lambda: 0.001, self._on_error, 1000.0)

    def play(self) -> StoreOutcome:
        random.seed(self.seed)
        ETCD[:] = [self.etcd]
        with patch.object(etcd_gateway, "HttpConnection", FakeConnection), patch.object(etcd_pages, "PAGE_KEYS", 3):
            task = self._start(self._story)
            ended = self._agenda.run(STORM_S + CALM_S + 60, task.done)
            if self.breach is None and not ended:
                self.breach = Breach("caught-up", "the storm never ended")
            self._wind_up()
        return StoreOutcome(self.seed, self.breach, self.history.acked)

    def _wind_up(self) -> None:
        """Nothing stays under way that a later storm would stumble over."""
        self.breach = self.breach or Breach("", "")
        self._agenda.stopped = False
        for task in list(self._loop.tasks):
            task.cancel()
        self._agenda.run(5.0)
        self.breach = self.breach if self.breach.invariant else None
        self._loop.bury()

    def _start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> "asyncio.Task[None]":
        return self._loop.create_task(self._judged(work))

    async def _judged(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except Broken as broken:
            self._end(broken.breach)
        except Exception as error:
            self._end(Breach("no-bug", repr(error)))

    def _on_error(self, loop: HostLoop, context: dict[str, Any]) -> None:
        self._end(Breach("no-bug", repr(context)))

    def _end(self, breach: Breach) -> None:
        if self.breach is None:
            self.breach = breach
            self._agenda.stopped = True

    # -- the story -----------------------------------------------------------------------------------------------------

    async def _story(self) -> None:
        url = f"etcd://{','.join(f'{host}:2379' for host in HOSTS)}/p"
        stores = [await EtcdStore.open(url, deadline_s=1.0) for _ in range(3)]
        tasks = [self._start(partial(self._live, number, store)) for number, store in enumerate(stores)]
        await self._storm()
        self.is_calm = True
        await asyncio.gather(*tasks)
        # All that ever happened, as etcd itself has it.
        for key, versions in self.etcd.versions.items():
            for revision, kv in versions:
                if key.startswith("/p/map/") and kv is not None:
                    self.history.on_value(etcd_value(kv), revision)
        self.history.sees_all = True
        final = await stores[0].load()
        for watcher in self.history.watchers:
            if watcher.revision < final.revision:
                raise Broken("caught-up", f"a watcher is at {watcher.revision}, the map at {final.revision}")
        self.history.check(final)
        await self._go_back(stores, final)

    async def _storm(self) -> None:
        loop, rng, faults = asyncio.get_running_loop(), self.rng, self.etcd.faults
        end = loop.time() + STORM_S
        while loop.time() < end:
            await asyncio.sleep(rng.uniform(0.05, 0.8))
            match rng.randrange(8):
                case 0:
                    faults.hung = set(rng.sample(HOSTS, rng.randrange(3)))
                case 1:
                    self.etcd.compact()
                case 2:
                    self.etcd.new_leader()
                case 3:
                    for connection in list(self.etcd.connections):
                        connection.abort()
                case _:
                    faults.lose_request, faults.lose_answer = rng.choice((0, 0.1, 0.4)), rng.choice((0, 0.1, 0.4))
                    faults.late, faults.stale_keep_alive = rng.choice((0, 0.1, 0.4)), rng.choice((0, 0.5))
                    faults.cut_stream = rng.choice((0, 0.05))
        self.etcd.faults = Faults()

    async def _live(self, number: int, store: EtcdStore) -> None:
        watcher = self.history.watch(await self._loaded(store))
        following = self._start(partial(self._follow, store, watcher))
        leasing = [self._start(partial(self._lease, number, store, name)) for name in LEASES]
        while not self.is_calm:
            await asyncio.sleep(self.rng.uniform(0.0, 0.2))
            await self._commit(store, watcher)
        await asyncio.sleep(CALM_S)
        for task in (following, *leasing):
            task.cancel()

    async def _loaded(self, store: EtcdStore) -> Snapshot:
        while True:
            with suppress(StoreUnreachable):
                snapshot = await store.load()
                self.history.on_seen(snapshot)
                return snapshot

    async def _commit(self, store: EtcdStore, watcher: Watcher) -> None:
        rng = self.rng
        keys = rng.sample(KEYS, 3)
        known = {key: watcher.map[key].revision if key in watcher.map else ABSENT for key in keys}
        expect = {key: known[key] for key in keys[: rng.randrange(4)]}
        if rng.random() < 0.3:
            # Refused mostly, but not when somebody deletes the key meanwhile.
            expect = {keys[0]: ABSENT}
        attempt = self.history.begin(keys[:1], keys[1:2] if rng.random() < 0.6 else [], expect)
        try:
            self.history.on_acked(attempt, await store.commit(attempt.puts, expect))
        except Conflict:
            self.history.on_refused(attempt)
        except StoreUnreachable:
            pass

    async def _follow(self, store: EtcdStore, watcher: Watcher) -> None:
        while True:
            try:
                async for changes in store.watch(watcher.revision):
                    watcher.on_changes(changes)
            except Compacted:
                snapshot = await self._loaded(store)
                if snapshot.revision < watcher.revision:
                    raise Broken("watch", f"a load at {snapshot.revision} after {watcher.revision}") from None
                watcher.map, watcher.revision = dict(snapshot.entries), snapshot.revision
            except StoreUnreachable:
                await asyncio.sleep(0.1)

    async def _lease(self, number: int, store: EtcdStore, name: str) -> None:
        rng, time, epoch = self.rng, asyncio.get_running_loop().time, 0
        held: Lease | None = None
        while True:
            await asyncio.sleep(rng.uniform(0.1, 0.8) if rng.random() < 0.9 else 3.0)
            asked = time()
            try:
                if held is None:
                    epoch += 1
                    held = await store.acquire(name, f"dir {number}", epoch, TTL_MS)
                elif rng.random() < 0.1:
                    self.tenures.on_gone(held)
                    released, held = held, None
                    await store.release(released)
                    continue
                else:
                    await store.renew(held)
                self.tenures.on_held(held, asked, time())
            except (LeaseHeld, LeaseLost):
                held = None
            except StoreUnreachable:
                pass

    async def _go_back(self, stores: list[EtcdStore], final: Snapshot) -> None:
        """To where the map was some commits ago; whoever has seen more is told, by each call that looks at the map."""
        self.etcd.put_back(final.revision - self.rng.randrange(1, 20))
        for call in (_first_change, _load):
            with suppress(StoreWentBack, TimeoutError):
                async with asyncio.timeout(5) as patience:
                    await call(stores[0], final.revision)
                    raise Broken("went-back", "a store restored below what it had told was believed")
            if not patience.expired():
                continue
            raise Broken("went-back", "a store restored below what it had told was believed")


async def _first_change(store: EtcdStore, after: int) -> None:
    async for _ in store.watch(after):
        return


async def _load(store: EtcdStore, after: int) -> None:
    await store.load()


def etcd_value(kv: dict[str, Any]) -> bytes:
    return base64.b64decode(kv.get("value", ""))


def run_etcd_storm(seed: int) -> StoreOutcome:
    return EtcdStorm(seed).play()
