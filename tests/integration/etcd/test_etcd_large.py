"""More than one page, and more than one message."""

import asyncio

import pytest
from etcd_world import EtcdWorld

from etcd_cluster import EtcdCluster
from headrace.cluster.store import Change
from headrace.stores.etcd_pages import PAGE_KEYS
from store_world import World, first, story


@pytest.fixture
def world(etcd: EtcdCluster, prefix: str) -> World:
    return EtcdWorld(etcd, prefix)


@story
async def test_a_load_of_many_pages_sees_one_moment(world: EtcdWorld) -> None:
    """Every commit writes the same number to the first and the last page: a torn load would find two."""
    one, two = await world.open(), await world.open()
    keys = [f"k{number:06}" for number in range(PAGE_KEYS + 100)]
    for start in range(0, len(keys), 100):
        await one.commit(dict.fromkeys(keys[start : start + 100], b"0"), {})
    await two.commit(dict.fromkeys((keys[0], keys[-1]), b"0"), {})
    is_over = asyncio.Event()

    async def write() -> int:
        number = 0
        while not is_over.is_set():
            number += 1
            await two.commit(dict.fromkeys((keys[0], keys[-1]), b"%d" % number), {})
        return number

    writing = asyncio.create_task(write())
    for _ in range(5):
        revision, entries = await one.load()
        assert list(entries) == keys
        assert entries[keys[0]] == entries[keys[-1]]
        assert max(entry.revision for entry in entries.values()) == revision
    is_over.set()
    assert await writing > 5


@story
async def test_a_watch_far_behind_gets_whole_commits(world: EtcdWorld) -> None:
    """Together they are larger than what etcd puts into one message."""
    store = await world.open()
    start = (await store.load()).revision
    written = []
    for number in range(12):
        puts = {f"k{index}": b"%02d" % number + bytes(20_000) for index in range(20)}
        revision = await store.commit(puts, {})
        written.append({Change(key, value, revision) for key, value in puts.items()})
    watch = store.watch(start)
    seen: list[Change] = []
    while len(seen) < 12 * 20:
        revision, changes = await first(watch)
        seen += changes
        assert len(seen) % 20 == 0
        assert changes[-1].revision == revision
    assert [set(seen[at : at + 20]) for at in range(0, len(seen), 20)] == written
    await watch.aclose()
