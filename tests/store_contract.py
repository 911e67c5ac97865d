"""What every adapter of the metadata store promises. An adapter is not one until it passes all of this.

A test module takes the stories by `from store_contract import *` and says in a fixture `world` where they play.
"""

import asyncio

import pytest

from headrace.cluster.store import (
    ABSENT,
    FIRST,
    OPERATIONS_MAX,
    Change,
    Commit,
    Compacted,
    Conflict,
    Entry,
    Lease,
    LeaseHeld,
    LeaseLost,
    MetaStore,
    commit_all,
)
from store_world import World, first, story


@story
async def test_a_new_store_is_empty(world: World) -> None:
    store = await world.open()
    assert (await store.load()).entries == {}


@story
async def test_what_is_committed_is_there_for_everyone_at_its_revision(world: World) -> None:
    one, two = await world.open(), await world.open()
    empty = (await one.load()).revision
    older = await one.commit({"a": b"1", "b": b"\0\xff"}, {})
    newer = await two.commit({"a": b"2"}, {})
    assert empty < older < newer
    expected = (newer, {"a": Entry(b"2", newer), "b": Entry(b"\0\xff", older)})
    assert await one.load() == await two.load() == expected


@story
async def test_a_store_opened_later_finds_everything(world: World) -> None:
    before = await world.open()
    revision = await before.commit({"a": b"1"}, {})
    await before.close()
    assert await (await world.open()).load() == (revision, {"a": Entry(b"1", revision)})


@story
async def test_deleting(world: World) -> None:
    store = await world.open()
    put = await store.commit({"a": b"1", "b": b"1"}, {})
    deleted = await store.commit({"a": None, "never": None}, {})
    assert put < deleted
    assert await store.load() == (deleted, {"b": Entry(b"1", put)})


@story
async def test_a_commit_that_changes_nothing_is_one_all_the_same(world: World) -> None:
    """Whoever waits until it is visible must not wait for ever."""
    store = await world.open()
    before = (await store.load()).revision
    watch = store.watch(before)
    deleted = await store.commit({"never": None}, {"never": ABSENT})
    assert before < deleted == (await store.load()).revision
    assert (await first(watch)).revision == deleted
    await watch.aclose()  # type: ignore[attr-defined]


@story
async def test_an_empty_value_is_a_value(world: World) -> None:
    store = await world.open()
    revision = await store.commit({"a": b""}, {"a": ABSENT})
    assert await store.load() == (revision, {"a": Entry(b"", revision)})
    with pytest.raises(Conflict):
        await store.commit({"a": b"1"}, {"a": ABSENT})


@story
async def test_a_commit_whose_expectations_fail_writes_nothing_and_names_the_keys(world: World) -> None:
    store = await world.open()
    a = await store.commit({"a": b"1"}, {})
    b = await store.commit({"b": b"1"}, {})
    with pytest.raises(Conflict) as conflict:
        await store.commit({"a": b"2", "c": b"2"}, {"a": b, "b": b, "c": a, "d": ABSENT})
    assert set(conflict.value.keys) == {"a", "c"}
    assert await store.load() == (b, {"a": Entry(b"1", a), "b": Entry(b"1", b)})


@story
async def test_a_deleted_key_is_absent(world: World) -> None:
    store = await world.open()
    put = await store.commit({"a": b"1"}, {"a": ABSENT})
    deleted = await store.commit({"a": None}, {"a": put})
    for revision in (put, deleted):
        with pytest.raises(Conflict):
            await store.commit({"a": b"2"}, {"a": revision})
    assert await store.commit({"a": b"2"}, {"a": ABSENT}) > deleted


@story
async def test_a_commit_compares_its_own_keys_and_no_others(world: World) -> None:
    store = await world.open()
    a = await store.commit({"a": b"1"}, {})
    b = await store.commit({"b": b"1"}, {})
    assert await store.commit({"a": b"2"}, {"a": a}) > b


@story
async def test_comparing_without_writing_makes_no_revision(world: World) -> None:
    store = await world.open()
    revision = await store.commit({"a": b"1"}, {})
    assert await store.commit({}, {"a": revision, "b": ABSENT}) == revision
    assert await store.commit({}, {}) == revision
    with pytest.raises(Conflict) as conflict:
        await store.commit({}, {"a": revision, "b": revision})
    assert conflict.value.keys == ("b",)
    assert (await store.load()).revision == revision


@story
async def test_a_commit_has_a_largest_size(world: World) -> None:
    store = await world.open()
    largest = {f"k{n}": b"" for n in range(OPERATIONS_MAX)}
    revision = await store.commit(largest, dict.fromkeys(largest, ABSENT))
    assert len((await store.load()).entries) == OPERATIONS_MAX
    await store.commit(dict.fromkeys(largest), dict.fromkeys(largest, revision))
    assert (await store.load()).entries == {}
    with pytest.raises(AssertionError, match="101 operations"):
        await store.commit({f"k{n}": b"" for n in range(OPERATIONS_MAX + 1)}, {})
    with pytest.raises(AssertionError, match="101 operations"):
        await store.commit({}, {f"k{n}": 1 for n in range(OPERATIONS_MAX + 1)})


@story
async def test_commits_of_one_change_can_rely_on_the_first(world: World) -> None:
    store = await world.open()
    x = await store.commit({"x": b""}, {})
    first_commit, last_commit = Commit({"a": b"1"}, {}), Commit({"b": b"1"}, {"a": FIRST, "b": ABSENT})
    last = await commit_all(store, [first_commit, Commit({"x": b"1"}, {"x": x}), last_commit])
    assert (await store.load()).revision == last
    with pytest.raises(Conflict) as conflict:
        await commit_all(store, [Commit({"c": b"1"}, {}), Commit({"c": None}, {}), Commit({"d": b""}, {"c": FIRST})])
    assert conflict.value.keys == ("c",)


@story
async def test_a_watch_tells_what_happened_since(world: World) -> None:
    one, two = await world.open(), await world.open()
    watch = one.watch(await one.commit({"a": b"1"}, {}))
    b = await one.commit({"b": b"1"}, {})
    assert await first(watch) == (b, (Change("b", b"1", b),))
    c = await two.commit({"a": None, "c": b"3"}, {})
    revision, changes = await first(watch)
    assert revision == c
    assert set(changes) == {Change("a", None, c), Change("c", b"3", c)}
    await watch.aclose()  # type: ignore[attr-defined]


@story
async def test_a_watch_waits_for_what_comes(world: World) -> None:
    one, two = await world.open(), await world.open()
    now = (await one.load()).revision
    waiting = [asyncio.create_task(first(store.watch(now))) for store in (one, two)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    revision = await two.commit({"a": b"1"}, {})
    assert [(await task).revision for task in waiting] == [revision] * 2


@story
async def test_a_watcher_that_applies_everything_arrives_at_what_a_load_finds(world: World) -> None:
    one, two = await world.open(), await world.open()
    seen: dict[str, bytes] = {}
    revisions: list[int] = []
    start = (await one.load()).revision

    async def follow() -> None:
        async for revision, changes in one.watch(start):
            assert [change.revision for change in changes] == sorted(change.revision for change in changes)
            for key, value, _ in changes:
                if value is None:
                    seen.pop(key, None)
                else:
                    seen[key] = value
            revisions.append(revision)
            if "end" in seen:
                return

    following = asyncio.create_task(follow())
    for number in range(40):
        value = None if number % 3 == 0 else b"%d" % number
        await (one, two)[number % 2].commit({f"k{number % 7}": value}, {})
    await two.commit({"end": b""}, {})
    await following
    assert revisions == sorted(set(revisions))
    assert seen == {key: entry.value for key, entry in (await two.load()).entries.items()}


@story
async def test_a_watch_from_too_long_ago_asks_for_a_new_load(world: World) -> None:
    store = await world.open()
    long_ago = (await store.load()).revision
    for number in range(60):
        await store.commit({f"k{number}": b""}, {})
        last = await store.commit({f"k{number}": None}, {})
    await world.forget_history()
    with pytest.raises(Compacted):
        await first(store.watch(long_ago))
    revision, entries = await store.load()
    assert (revision, entries) == (last, {})
    k = await store.commit({"k": b"1"}, {})
    assert await first(store.watch(revision)) == (k, (Change("k", b"1", k),))


async def increment(store: MetaStore, times: int) -> None:
    for _ in range(times):
        while True:
            entries = (await store.load()).entries
            value, modified = entries.get("count", Entry(b"0", ABSENT))
            try:
                await store.commit({"count": b"%d" % (int(value) + 1)}, {"count": modified})
                break
            except Conflict:
                continue


@story
async def test_compare_and_set_loses_no_update_among_rivals(world: World) -> None:
    stores = [await world.open() for _ in range(3)]
    await asyncio.gather(*(increment(store, 20) for store in stores))
    assert (await stores[0].load()).entries["count"].value == b"60"


@story
async def test_a_lease_has_one_holder_until_it_runs_out(world: World) -> None:
    one, two = await world.open(), await world.open()
    held = await one.acquire("controller", "broker 1", 5, 2000)
    assert held == Lease("controller", "broker 1", 5, 2000)
    with pytest.raises(LeaseHeld) as refused:
        await two.acquire("controller", "broker 2", 9, 2000)
    assert refused.value.lease == held
    await world.until_run_out(held)
    taken = await two.acquire("controller", "broker 2", 9, 2000)
    assert await one.leases() == {"controller": taken}
    with pytest.raises(LeaseLost):
        await one.renew(held)


@story
async def test_a_renewed_lease_lives_on(world: World) -> None:
    one, two = await world.open(), await world.open()
    held = await one.acquire("brokers/1", "dir 1", 1, 2000)
    for _ in range(3):
        await world.let_pass(1)
        await one.renew(held)
    assert await two.leases() == {"brokers/1": held}


@story
async def test_a_lease_that_ran_out_cannot_be_renewed_even_if_nobody_took_it(world: World) -> None:
    store = await world.open()
    held = await store.acquire("brokers/1", "dir 1", 1, 2000)
    await world.until_run_out(held)
    assert await store.leases() == {}
    with pytest.raises(LeaseLost):
        await store.renew(held)
    again = await store.acquire("brokers/1", "dir 1", 2, 2000)
    await store.renew(again)


@story
async def test_a_holder_that_restarts_steps_over_itself_with_a_higher_epoch(world: World) -> None:
    before, after = await world.open(), await world.open()
    old = await before.acquire("brokers/1", "dir 1", 7, 2000)
    with pytest.raises(LeaseHeld):
        await after.acquire("brokers/1", "dir 1", 7, 2000)
    new = await after.acquire("brokers/1", "dir 1", 8, 2000)
    with pytest.raises(LeaseLost):
        await before.renew(old)
    await before.release(old)
    assert await after.leases() == {"brokers/1": new}


@story
async def test_a_released_lease_is_free_at_once(world: World) -> None:
    one, two = await world.open(), await world.open()
    held = await one.acquire("controller", "broker 1", 1, 2000)
    await one.release(held)
    await one.release(held)
    assert await two.leases() == {}
    await two.acquire("controller", "broker 2", 1, 2000)
    with pytest.raises(LeaseLost):
        await one.renew(held)


@story
async def test_watching_leases_tells_of_those_that_come_go_and_run_out(world: World) -> None:
    one, two = await world.open(), await world.open()
    watch = one.watch_leases()
    assert await first(watch) == {}
    a = await two.acquire("brokers/1", "dir 1", 1, 2000)
    assert await first(watch) == {"brokers/1": a}
    await two.renew(a)
    b = await one.acquire("brokers/2", "dir 2", 1, 500)
    assert await first(watch) == {"brokers/1": a, "brokers/2": b}
    await world.until_run_out(b, renewing={a: two})
    assert await first(watch) == {"brokers/1": a}
    await two.release(a)
    assert await first(watch) == {}
    await watch.aclose()  # type: ignore[attr-defined]


@story
async def test_leases_are_no_part_of_the_map(world: World) -> None:
    store = await world.open()
    revision = await store.commit({"a": b"1"}, {})
    await store.acquire("controller", "broker 1", 1, 2000)
    assert await store.load() == (revision, {"a": Entry(b"1", revision)})
    assert await store.commit({}, {"a": revision}) == revision
