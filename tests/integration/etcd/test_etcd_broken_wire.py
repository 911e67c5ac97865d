"""Replies that are lost, requests that come late, a watch that is cut off: what the store makes of them."""

import asyncio

import pytest
from etcd_world import EtcdWorld
from relay import Relay

from etcd_cluster import EtcdCluster
from headrace.base.errors import StoreUnreachable
from headrace.cluster.store import ABSENT, Change, Changes, Compacted, Conflict, Entry
from headrace.stores.etcd import EtcdStore
from store_world import World, first, story


class WiredWorld(EtcdWorld):
    """`near` is reached through a relay, every other store directly."""

    def __init__(self, cluster: EtcdCluster, prefix: str) -> None:
        super().__init__(cluster, prefix)
        self.prefix = prefix
        self.relay = Relay(cluster.members[0].client_port)

    async def near(self, deadline_s: float = 20) -> EtcdStore:
        store = await EtcdStore.open(self.relay.url(self.prefix), deadline_s=deadline_s)
        self.opened.append(store)
        # Leases for receipts are there from here on: what follows on the wire are the commits themselves.
        await store.commit({"warm": b""}, {})
        return store

    async def play(self, story) -> None:
        async with self.relay:
            await super().play(story)


@pytest.fixture
def world(etcd: EtcdCluster, prefix: str) -> World:
    return WiredWorld(etcd, prefix)


@story
async def test_a_commit_whose_reply_is_lost_is_done_once_and_is_no_conflict(world: WiredWorld) -> None:
    near, far = await world.near(), await world.open()
    before = (await far.load()).revision
    world.relay.replies_to_lose = 2
    revision = await near.commit({"a": b"1"}, {"a": ABSENT})
    assert world.relay.replies_to_lose == 0
    assert revision > before
    assert (await far.load()).entries["a"] == Entry(b"1", revision)
    assert await first(far.watch(before)) == (revision, (Change("a", b"1", revision),))
    assert await near.commit({"a": b"2"}, {"a": revision}) > revision


@story
async def test_a_blind_put_whose_reply_is_lost_does_not_undo_what_came_after_it(world: WiredWorld) -> None:
    near, far = await world.near(), await world.open()
    before = (await far.load()).revision
    world.relay.replies_to_lose = 1
    committing = asyncio.create_task(near.commit({"a": b"1"}, {}))
    assert (await first(far.watch(before))).changes[0].value == b"1"
    newer = await far.commit({"a": b"2"}, {})
    older = await committing
    assert older < newer
    assert (await far.load()).entries["a"] == Entry(b"2", newer)


@story
async def test_a_refusal_whose_reply_is_lost_is_a_conflict(world: WiredWorld) -> None:
    near, far = await world.near(), await world.open()
    taken = await far.commit({"a": b"1"}, {})
    world.relay.replies_to_lose = 2
    with pytest.raises(Conflict) as conflict:
        await near.commit({"a": b"2", "b": b"2"}, {"a": ABSENT, "b": ABSENT})
    assert conflict.value.keys == ("a",)
    assert world.relay.replies_to_lose == 0
    assert (await far.load()).entries["a"] == Entry(b"1", taken)
    assert await near.commit({"a": b"3"}, {"a": taken}) > taken


@story
async def test_an_attempt_that_comes_after_its_commit_was_refused_is_refused_too(world: WiredWorld) -> None:
    """Were it done after all, somebody who was told "conflict" would have changed the map."""
    near, far = await world.near(), await world.open()
    taken = await far.commit({"a": b"1"}, {})
    world.relay.requests_to_hold = 1
    with pytest.raises(Conflict):
        await near.commit({"a": b"2"}, {"a": ABSENT})
    freed = await far.commit({"a": None}, {"a": taken})
    assert b"200 OK" in await world.relay.deliver_held()
    assert await far.load() == (freed, {"warm": (await far.load()).entries["warm"]})
    assert await near.commit({"a": b"3"}, {"a": ABSENT}) > freed


@story
async def test_an_attempt_that_comes_after_its_commit_was_done_is_not_done_again(world: WiredWorld) -> None:
    near, far = await world.near(), await world.open()
    world.relay.requests_to_hold = 1
    done = await near.commit({"a": b"1"}, {})
    newer = await far.commit({"a": b"2"}, {"a": done})
    await world.relay.deliver_held()
    assert (await far.load()).entries["a"] == Entry(b"2", newer)


@story
async def test_many_commits_over_a_wire_that_keeps_losing_replies(world: WiredWorld) -> None:
    near = await world.near()

    async def lose() -> None:
        for _ in range(20):
            world.relay.replies_to_lose = 1
            await asyncio.sleep(0.005)

    losing = asyncio.create_task(lose())
    revisions = await asyncio.gather(*(near.commit({f"k{n}": b"%d" % n}, {f"k{n}": ABSENT}) for n in range(100)))
    await losing
    world.relay.replies_to_lose = 0
    entries = (await near.load()).entries
    assert {key: entry for key, entry in entries.items() if key != "warm"} == {
        f"k{n}": Entry(b"%d" % n, revision) for n, revision in enumerate(revisions)
    }


@story
async def test_a_cut_wire_is_a_store_out_of_reach_and_a_mended_one_is_not(world: WiredWorld) -> None:
    near = await world.near(deadline_s=3)
    held = await near.acquire("controller", "broker 1", 1, 60_000)
    world.relay.cut()
    calls = (
        near.load(),
        near.commit({"a": b"1"}, {}),
        near.commit({}, {"a": 1}),
        near.acquire("brokers/1", "dir 1", 1, 2000),
        near.renew(held),
        near.release(held),
        near.leases(),
        first(near.watch(0)),
        first(near.watch_leases()),
    )
    for refused in await asyncio.gather(*calls, return_exceptions=True):
        with pytest.raises(StoreUnreachable, match="did not answer within 3 s"):
            raise refused
    world.relay.mend()
    await near.renew(held)
    assert await near.commit({"a": b"1"}, {}) > 0


@story
async def test_a_watch_goes_on_where_it_was_when_the_wire_is_mended(world: WiredWorld) -> None:
    near, far = await world.near(), await world.open()
    watch, leases = near.watch((await far.load()).revision), near.watch_leases()
    one = await far.commit({"a": b"1"}, {})
    assert (await first(watch)).revision == one
    assert await first(leases) == {}
    world.relay.cut()
    two, three = await far.commit({"a": b"2"}, {}), await far.commit({"b": b"3"}, {})
    held = await far.acquire("controller", "broker 1", 1, 60_000)
    waiting = asyncio.create_task(_collect(watch, three)), asyncio.create_task(first(leases))
    world.relay.mend()
    assert await waiting[0] == [Change("a", b"2", two), Change("b", b"3", three)]
    assert await waiting[1] == {"controller": held}


async def _collect(watch, until: int) -> list[Change]:
    changes: list[Change] = []
    while not changes or changes[-1].revision < until:
        changes += (await first(watch)).changes
    return changes


@story
async def test_history_that_is_compacted_while_a_watch_is_cut_off(world: WiredWorld) -> None:
    near, far = await world.near(), await world.open()
    watch = near.watch((await far.load()).revision)
    await far.commit({"a": b"1"}, {})
    await first(watch)
    world.relay.cut()
    await far.commit({"a": b"2"}, {})
    last = await far.commit({"a": b"3"}, {})
    await world.forget_history()
    world.relay.mend()
    with pytest.raises(Compacted):
        await first(watch)
    snapshot = await near.load()
    assert (snapshot.revision, snapshot.entries["a"].value) == (last, b"3")


@story
async def test_a_watch_that_missed_nothing_survives_any_compaction(world: WiredWorld) -> None:
    """Leases and other users of etcd make revisions too: what was compacted need not be ours."""
    near, far = await world.near(), await world.open()
    revision = (await near.load()).revision
    waiting = asyncio.create_task(first(near.watch(revision)))
    await world.relay.watches.acquire()
    for epoch in range(5):
        await far.release(await far.acquire("controller", "broker 1", epoch, 60_000))
    world.relay.cut()
    await world.forget_history()
    world.relay.mend()
    later = asyncio.create_task(first(near.watch(revision)))
    for _ in (waiting, later):
        await world.relay.watches.acquire()
    changed = await far.commit({"a": b"1"}, {})
    assert await waiting == await later == Changes(changed, (Change("a", b"1", changed),))


@story
async def test_closing_ends_what_is_under_way(world: WiredWorld) -> None:
    near = await world.near()
    waiting = asyncio.create_task(first(near.watch((await near.load()).revision)))
    await near.load()
    await near.close()
    with pytest.raises(StoreUnreachable, match="closed"):
        await waiting
    with pytest.raises(StoreUnreachable, match="closed"):
        await near.load()
