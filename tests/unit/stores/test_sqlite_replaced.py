"""Files of the SQLite store that somebody deletes or replaces while it is open: by hand, from a backup, or to tidy up."""

import asyncio
import shutil
from pathlib import Path

import apsw
import pytest

from headrace.base.errors import StoreUnreachable, UserError
from headrace.cluster.store import Lease, LeaseLost, StoreWentBack
from headrace.stores import process_life
from headrace.stores.memory import MemoryShelf, MemoryStore
from headrace.stores.process_life import ProcessLife, is_over, sweep
from headrace.stores.sqlite_file import SqliteFile
from headrace.stores.sqlite_leases import SqliteLeases
from store_world import HandClock, SqliteWorld, World, first, story


@pytest.fixture
def world(tmp_path: Path) -> World:
    return SqliteWorld(tmp_path)


def lives(world: World) -> list[Path]:
    assert isinstance(world, SqliteWorld)
    return sorted(world.path.parent.glob("*.life-*"))


@story
async def test_a_live_broker_whose_life_file_was_deleted_is_not_taken_for_dead(world: World) -> None:
    one, two = await world.open(), await world.open()
    held = await one.acquire("broker/1", "dir 1", 1, 2000)
    for path in lives(world):
        path.unlink()
    assert await two.leases() == {"broker/1": held}
    await one.renew(held)
    assert await two.leases() == {"broker/1": held}


@story
async def test_a_deleted_life_file_is_made_anew_so_that_a_death_is_seen_at_once(world: World) -> None:
    one, two = await world.open(), await world.open()
    held = await one.acquire("broker/1", "dir 1", 1, 60_000)
    for path in lives(world):
        path.unlink()
    await one.renew(held)
    assert len(lives(world)) == 1
    await one.close()
    assert await two.leases() == {}


def test_a_life_is_over_when_its_lock_is_free_and_not_before(tmp_path: Path) -> None:
    beside = tmp_path / "metadata.sqlite"
    life = ProcessLife(beside)
    path = next(tmp_path.iterdir())
    assert not is_over(beside, life.token)
    path.unlink()
    assert not is_over(beside, life.token)
    path.touch()
    life.keep()
    assert not is_over(beside, life.token)
    assert list(tmp_path.iterdir()) == [path]
    life.end(is_forgotten=False)
    assert is_over(beside, life.token)


def test_files_of_the_dead_are_swept_up_when_nobody_asks_for_them(tmp_path: Path) -> None:
    beside = tmp_path / "metadata.sqlite"
    alive, dead, asked_for = (ProcessLife(beside) for _ in range(3))
    dead.end(is_forgotten=False)
    asked_for.end(is_forgotten=False)
    sweep(beside, {asked_for.token})
    assert len(list(tmp_path.iterdir())) == 2
    assert is_over(beside, asked_for.token)
    assert not is_over(beside, alive.token)
    alive.end(is_forgotten=True)
    assert len(list(tmp_path.iterdir())) == 1


@story
async def test_a_lease_file_that_was_deleted_is_begun_anew_by_all(world: World) -> None:
    one, two = await world.open(), await world.open()
    held = await one.acquire("broker/1", "dir 1", 1, 60_000)
    assert isinstance(world, SqliteWorld)
    for path in world.path.parent.glob("*.leases-*"):
        path.unlink()
    newcomer = await two.acquire("broker/2", "dir 2", 1, 60_000)
    with pytest.raises(LeaseLost):
        await one.renew(held)
    again = await one.acquire("broker/1", "dir 1", 2, 60_000)
    assert await one.leases() == await two.leases() == {"broker/1": again, "broker/2": newcomer}


def test_leases_whose_file_cannot_be_opened_anew_do_not_answer_until_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "metadata.sqlite"
    leases = SqliteLeases(beside, HandClock(), 0.0)
    for path in tmp_path.glob("*.leases-*"):
        path.unlink()
    with monkeypatch.context() as patch:
        patch.setattr(SqliteFile, "_prepare", _is_locked)
        with pytest.raises(StoreUnreachable):
            leases.acquire(Lease("broker/1", "dir 1", 1, 2000))
    for call in (leases.live, leases.has_changed):
        with pytest.raises(StoreUnreachable):
            call()
    held = leases.acquire(Lease("broker/1", "dir 1", 2, 2000))
    assert leases.live() == {"broker/1": held}
    leases.close()


def _is_locked(*_: object) -> None:
    raise apsw.BusyError


def test_a_death_is_told_though_another_call_saw_it_first(tmp_path: Path) -> None:
    beside = tmp_path / "metadata.sqlite"
    one, two = (SqliteLeases(beside, HandClock(), 0.0) for _ in range(2))
    one.acquire(Lease("broker/1", "dir 1", 1, 60_000))
    assert two.has_changed()
    assert set(two.live()) == {"broker/1"}
    assert not two.has_changed()
    one._life.end(is_forgotten=False)
    assert two.live() == {}
    assert two.has_changed()
    two.close()
    one._file.close()


@story
async def test_a_database_that_was_replaced_is_told_to_watchers_and_writers(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    store = await world.open()
    await store.commit({"a": b"1"}, {})
    older = world.path.with_name("backup.sqlite")
    db = apsw.Connection(str(world.path))
    db.execute("VACUUM INTO ?", (str(older),))
    db.close()
    last = await store.commit({"a": b"2"}, {})
    watching = asyncio.create_task(first(store.watch(last)))
    shutil.move(older, world.path)
    with pytest.raises(UserError, match="removed or replaced") as refused:
        await watching
    assert "docs/etcd.md" in refused.value.fix
    with pytest.raises(UserError, match="removed or replaced"):
        await store.commit({"a": b"3"}, {})


@story
async def test_a_database_that_went_back_in_its_place(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    store = await world.open()
    await store.commit({"a": b"1"}, {})
    last = await store.commit({"a": b"2"}, {})
    watching = asyncio.create_task(first(store.watch(last)))
    await store.load()
    db = apsw.Connection(str(world.path))
    db.execute("UPDATE head SET revision = 1; DELETE FROM entries")
    db.close()
    for call in (watching, store.load(), store.commit({"b": b"1"}, {})):
        with pytest.raises(StoreWentBack, match="from revision 2 to 1"):
            await call


def test_the_store_in_memory_tells_of_it_too() -> None:
    shelf = MemoryShelf()
    shelf.commit({"a": b"1"}, {})
    with pytest.raises(StoreWentBack):
        asyncio.run(first(MemoryStore(shelf, HandClock()).watch(5)))


def test_a_life_that_another_process_sweeps_before_it_is_locked_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Brokers that start together sweep while others make their files."""
    beside = tmp_path / "metadata.sqlite"
    lock, swept = process_life.fcntl.flock, []

    def sweep_first(fd: int, operation: int) -> None:
        if not swept:
            swept.extend(tmp_path.iterdir())
            sweep(beside, ())
        lock(fd, operation)

    monkeypatch.setattr(process_life.fcntl, "flock", sweep_first)
    life = ProcessLife(beside)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == [f"metadata.sqlite.life-{life.token}"] != swept
    assert not is_over(beside, life.token)
