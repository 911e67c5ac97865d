"""An etcd of three members, of which some die or hang while the store is in use."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from etcd_world import EtcdWorld

from etcd_cluster import EtcdCluster
from headrace.base.errors import StoreUnreachable
from headrace.cluster.store import LeaseLost, MetaStore
from headrace.stores.etcd import EtcdStore
from store_contract import increment
from store_world import World, first, story


@pytest.fixture
def world(three: EtcdCluster, prefix: str) -> World:
    return EtcdWorld(three, prefix, deadline_s=10)


async def while_counting(stores: list[MetaStore], trouble: Callable[[], Awaitable[None]]) -> int:
    """Each store adds one again and again; how often all of them did, from before the trouble until after it."""
    is_over = asyncio.Event()

    async def count(store: MetaStore) -> int:
        times = 0
        while not is_over.is_set():
            await increment(store, 1)
            times += 1
        for _ in range(10):
            await increment(store, 1)
        return times + 10

    counting = [asyncio.create_task(count(store)) for store in stores]
    await stores[0].load()
    await trouble()
    is_over.set()
    return sum(await asyncio.gather(*counting))


async def count_of(store: MetaStore) -> int:
    return int((await store.load()).entries["count"].value)


@story
async def test_commits_go_on_when_the_leader_is_killed_and_none_counts_twice(world: EtcdWorld) -> None:
    stores = [await world.open() for _ in range(3)]
    etcd = world.cluster

    async def kill_leaders_in_turn() -> None:
        for _ in range(2):
            leader = await asyncio.to_thread(etcd.leader)
            etcd.kill(leader)
            await increment(stores[0], 3)
            etcd.start(leader)
            await asyncio.to_thread(etcd.until_ready)

    counted = await while_counting(stores, kill_leaders_in_turn)
    assert await count_of(stores[0]) == counted + 6


@story
async def test_a_hanging_member_is_left_and_what_it_did_not_answer_is_not_done_twice(world: EtcdWorld) -> None:
    """Stopped, it keeps its connections and the requests in them, and works them off when it goes on."""
    stores = [await world.open() for _ in range(3)]
    etcd = world.cluster

    async def pause_each_in_turn() -> None:
        for index in range(3):
            etcd.pause(index)
            for store in stores:
                await increment(store, 1)
            etcd.resume(index)

    counted = await while_counting(stores, pause_each_in_turn)
    await asyncio.to_thread(etcd.until_ready)
    assert await count_of(stores[0]) == counted + 9


@story
async def test_a_watch_leaves_a_member_that_hangs(world: EtcdWorld) -> None:
    store = await world.open()
    assert isinstance(store, EtcdStore)
    changes, leases = store.watch((await store.load()).revision), store.watch_leases()
    assert await first(leases) == {}
    waiting = asyncio.create_task(first(changes)), asyncio.create_task(first(leases))
    await store.commit({"a": b"1"}, {})
    held = await store.acquire("controller", "broker 1", 1, 60_000)
    await asyncio.gather(*waiting)
    # Both streams are open, and on this member, since all calls go to one as long as it answers.
    world.cluster.pause(store._gateway._current)
    revision = await store.commit({"a": b"2"}, {})
    assert (await first(changes)).revision == revision
    await store.release(held)
    assert await first(leases) == {}
    await changes.aclose()
    await leases.aclose()


@story
async def test_without_a_majority_the_store_is_out_of_reach_until_it_is_back(world: EtcdWorld) -> None:
    world.deadline_s = 4
    store = await world.open()
    revision = await store.commit({"a": b"1"}, {})
    held = await store.acquire("brokers/1", "dir 1", 1, 60_000)
    watching = asyncio.create_task(first(store.watch(revision)))
    world.cluster.kill(0)
    world.cluster.kill(1)
    calls = store.load(), store.commit({"a": b"2"}, {"a": revision}), store.renew(held), store.leases()
    for refused in await asyncio.gather(*calls, return_exceptions=True):
        with pytest.raises(StoreUnreachable):
            raise refused
    with pytest.raises(StoreUnreachable):
        await watching
    world.cluster.start(0)
    await asyncio.to_thread(world.cluster.until_ready)
    await store.renew(held)
    assert (await store.load()).entries["a"].value in (b"1", b"2")


@story
async def test_a_holder_that_hangs_finds_its_lease_lost(world: EtcdWorld) -> None:
    one, two = await world.open(), await world.open()
    held = await one.acquire("controller", "broker 1", 1, 1000)
    watch = two.watch_leases()
    assert await first(watch) == {"controller": held}
    assert await first(watch) == {}
    taken = await two.acquire("controller", "broker 2", 1, 60_000)
    with pytest.raises(LeaseLost):
        await one.renew(held)
    assert await first(watch) == {"controller": taken}
