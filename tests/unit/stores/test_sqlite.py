"""What is particular to SQLite: other processes, files that are not ours, and a library that is too old."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
import pytest

from eventually import until
from headrace.base.errors import StoreUnreachable, UserError
from headrace.cluster.store import LeaseLost, MetaStore
from headrace.stores.frozen_writer import writers
from headrace.stores.lane import StoreLane
from headrace.stores.sqlite import SqliteStore
from headrace.stores.sqlite_file import check_library
from store_contract import increment
from store_world import SqliteWorld, World, first, story

RIVAL = """
import asyncio, sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from store_contract import increment
from headrace.stores.sqlite import SqliteStore

async def main():
    store = await SqliteStore.open(Path(sys.argv[1]), deadline_s=30)
    while True:
        await increment(store, 1)
        print((await store.load()).entries["count"].value.decode(), flush=True)

asyncio.run(main())
"""


HOLDER = """
import sys, apsw
db = apsw.Connection(sys.argv[1])
db.execute("BEGIN IMMEDIATE")
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def world(tmp_path: Path) -> World:
    return SqliteWorld(tmp_path)


def rival(path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", RIVAL, str(path), str(Path(__file__).parents[2])]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def holder(path: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", HOLDER, str(path)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@story
async def test_another_process_commits_beside_us_and_is_killed(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    store = await world.open()
    with rival(world.path) as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        await increment(store, 30)
        last = int(await asyncio.to_thread(process.stdout.readline))
        process.kill()
        for line in process.stdout:
            last = int(line or last)
    revision, entries = await store.load()
    count = int(entries["count"].value)
    # Each commit added one and took one revision: had an update been lost, the count would lag behind.
    assert count == revision
    assert count >= last
    assert count > 30
    await increment(store, 1)
    assert (await (await world.open()).load()).revision == revision + 1


async def opened(path: Path) -> MetaStore:
    return await SqliteStore.open(path)


def refusal(path: Path) -> UserError:
    with pytest.raises(UserError) as refused:
        asyncio.run(opened(path))
    assert refused.value.fix
    assert str(path) in refused.value.cause
    return refused.value


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    path.write_bytes(b"something else entirely" * 1000)
    assert "not a SQLite file" in refusal(path).cause
    assert path.read_bytes() == b"something else entirely" * 1000


def test_the_database_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    with apsw.Connection(str(path)) as db:
        db.execute("CREATE TABLE customers (name)")
    db.close()
    before = path.read_bytes()
    assert "not one of Headrace's" in refusal(path).cause
    assert path.read_bytes() == before


def test_the_format_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "metadata.sqlite"
    asyncio.run(SqliteWorld(tmp_path).play(World.open))
    db = apsw.Connection(str(path))
    db.pragma("user_version", 2)
    db.close()
    assert "format 2" in refusal(path).cause


def test_a_folder_that_does_not_exist(tmp_path: Path) -> None:
    assert "cannot open" in refusal(tmp_path / "nowhere" / "metadata.sqlite").cause


def test_an_old_library_is_refused() -> None:
    with pytest.raises(UserError, match=r"3\.51\.2 is too old") as refused:
        check_library("3.51.2")
    assert "apsw" in refused.value.fix
    check_library("3.51.3")
    check_library("3.100.0")


@story
async def test_a_lease_that_runs_out_while_we_wait_for_the_lock_is_lost(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    store = await world.open()
    lease = await store.acquire("a", "one", 1, 50)
    with holder(world.path.with_name(f"{world.path.name}.leases-boot-1")) as process:
        assert process.stdout is not None and process.stdin is not None
        await asyncio.to_thread(process.stdout.readline)
        renewing = asyncio.create_task(store.renew(lease))
        await asyncio.sleep(0.2)
        assert not renewing.done()
        process.stdin.close()
    with pytest.raises(LeaseLost):
        await renewing


@story
async def test_leases_of_an_earlier_boot_are_never_read(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    store = await world.open()
    await store.acquire("brokers/1", "dir 1", 1, 60_000)
    world.clock.boot = "boot-2"
    assert await (await world.open()).leases() == {}
    assert not [path.name for path in world.path.parent.iterdir() if "boot-1" in path.name]


@story
async def test_a_commit_that_landed_after_its_deadline_is_still_told_to_our_watchers(world: World) -> None:
    store = await world.open()
    assert isinstance(store, SqliteStore)
    watch = store.watch(0)
    waiting = asyncio.create_task(first(watch))
    await store.load()
    # What a late answer amounts to: the map has changed, and nobody came back to say so.
    await store._map_lane.run(store._map.commit, {"a": b"1"}, {})
    assert (await waiting).revision == 1


@story
async def test_a_file_that_stays_locked_is_a_store_out_of_reach(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    await world.open()
    impatient = await SqliteStore.open(world.path, deadline_s=1)
    blocker = apsw.Connection(str(world.path))
    blocker.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreUnreachable):
        await impatient.commit({"a": b"1"}, {})
    assert (await impatient.load()).revision == 0
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await impatient.commit({"a": b"1"}, {}) == 1
    await impatient.close()
    with pytest.raises(StoreUnreachable, match="closed"):
        await impatient.load()


@story
async def test_a_process_that_was_stopped_with_the_lock_is_ended(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    store = await world.open()
    with holder(world.path) as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        process.send_signal(signal.SIGSTOP)
        assert await store.commit({"a": b"1"}, {}) == 1
        assert await asyncio.to_thread(process.wait, 30) == -signal.SIGKILL


@story
async def test_a_process_that_was_stopped_with_the_lock_is_ended_though_nobody_writes(world: World) -> None:
    """Else the wait for its lock would begin when its lease is over and somebody wants to take over."""
    assert isinstance(world, SqliteWorld)
    store = await world.open()
    (leases,) = (path for path in world.path.parent.glob("*.leases-*") if not path.name.endswith(("-wal", "-shm")))
    watches = [asyncio.create_task(_follow(news)) for news in (store.watch(0), store.watch_leases())]
    for path in (world.path, leases):
        with holder(path) as process:
            try:
                assert process.stdout is not None
                await asyncio.to_thread(process.stdout.readline)
                process.send_signal(signal.SIGSTOP)
                assert await asyncio.to_thread(process.wait, 20) == -signal.SIGKILL
            finally:
                process.kill()
    for watch in watches:
        watch.cancel()


async def _follow(news: AsyncIterator[object]) -> None:
    async for _ in news:
        pass


def _freezers() -> list[tuple[Path, str, str, str]]:
    """A cgroup to be made, its file that freezes, and what is written to it to freeze and to go on, by version."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        where, _, what = line.partition(" - ")
        group = Path(where.split()[4]) / f"headrace-test-{os.getpid()}"
        if what.startswith("cgroup2 "):
            found.append((group, "cgroup.freeze", "1", "0"))
        elif what.startswith("cgroup ") and what.endswith(",freezer"):
            found.append((group, "freezer.state", "FROZEN", "THAWED"))
    return found


@contextmanager
def frozen(pid: int, freezer: tuple[Path, str, str, str]) -> Iterator[None]:
    group, file, freeze, thaw = freezer
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    try:
        (group / "cgroup.procs").write_text(str(pid))
        (group / file).write_text(freeze)
        yield
    finally:
        (group / file).write_text(thaw)
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


@pytest.mark.skipif(not _freezers(), reason="no cgroups here")
@pytest.mark.parametrize("version", ["freezer.state", "cgroup.freeze"])
def test_a_process_that_was_paused_with_the_lock_is_ended(version: str, world: World) -> None:
    freezer = next((each for each in _freezers() if each[1] == version), None)
    if freezer is None:
        pytest.skip("this version of cgroups is not mounted here")

    async def tell(world: World) -> None:
        assert isinstance(world, SqliteWorld)
        store = await world.open()
        with holder(world.path) as process:
            try:
                assert process.stdout is not None
                await asyncio.to_thread(process.stdout.readline)
                with frozen(process.pid, freezer):
                    assert await store.commit({"a": b"1"}, {}) == 1
                    assert await asyncio.to_thread(process.wait, 30) == -signal.SIGKILL
            finally:
                process.kill()

    asyncio.run(world.play(tell))


@story
async def test_a_process_that_only_takes_its_time_with_the_lock_is_not(world: World) -> None:
    assert isinstance(world, SqliteWorld)
    await world.open()
    impatient = await SqliteStore.open(world.path, deadline_s=2)
    with holder(world.path) as process:
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        # Which of its two deadlines rings first is the machine's business.
        with pytest.raises(StoreUnreachable, match=r"stayed locked|did not answer"):
            await impatient.commit({"a": b"1"}, {})
        assert process.poll() is None
        process.kill()
    await impatient.close()


def test_a_writer_is_known_by_its_lock(tmp_path: Path) -> None:
    file = tmp_path.stat()
    name = f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}:{file.st_ino}"
    locks = (
        f"1: POSIX  ADVISORY  WRITE 11 {name} 120 120\n"
        f"1: -> POSIX  ADVISORY  WRITE 12 {name} 120 120\n"
        f"2: POSIX  ADVISORY  READ  13 {name} 123 123\n"
        f"3: FLOCK  ADVISORY  WRITE 14 {name} 0 EOF\n"
        f"4: POSIX  ADVISORY  WRITE 15 {name}1 120 120\n"
        f"5: POSIX  ADVISORY  WRITE 16 {name} 122 122\n"
    )
    assert writers(locks, file) == [11, 16]


def test_a_call_that_never_began_never_runs() -> None:
    async def tell() -> None:
        lane = StoreLane("slow disk", 0.05, 1)
        free = threading.Event()
        ran: list[str] = []

        def stuck() -> None:
            free.wait(30)
            ran.append("first")

        with pytest.raises(StoreUnreachable, match="slow disk did not answer"):
            await lane.run(stuck)
        with pytest.raises(StoreUnreachable):
            await lane.run(ran.append, "second")
        free.set()
        lane._jobs.put(None)
        await asyncio.to_thread(lane._thread.join)
        assert ran == ["first"]

    asyncio.run(tell())


def test_brokers_that_start_together_set_one_file_up(tmp_path: Path) -> None:
    """Between two statements of the check, another process had created the file: it looked like somebody else's."""
    code = (
        "import asyncio, sys; from pathlib import Path; from headrace.stores.sqlite import SqliteStore\n"
        "async def main():\n    store = await SqliteStore.open(Path(sys.argv[1])); await store.close()\n"
        "sys.stdin.read(1); asyncio.run(main())"
    )
    for attempt in range(3):
        command = [sys.executable, "-c", code, str(tmp_path / f"{attempt}.sqlite")]
        starting = [subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
        for process in starting:
            assert process.stdin is not None
            process.stdin.write(b"x")
            process.stdin.flush()
        assert [process.communicate()[1] for process in starting] == [b""] * 4
