"""The three ways to sync a round, on a real kernel: which one is taken, and what each does when it cannot."""

import asyncio
import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from headrace.base.disk import RealDisk
from headrace.base.errors import DiskFailed
from headrace.base.file_sync import Done, FileSync, Job
from headrace.broker.disk import kernel_sync, syncfs
from headrace.broker.disk.kernel_sync import FILES_MAX
from headrace.broker.disk.syncfs import FILES_MIN, is_proof
from headrace.broker.disk.syncfs_process import DIRTY_BYTES_MAX, dirty_bytes
from headrace.broker.disk.syncs import RealSyncs

SYNCFS, KERNEL, THREADS = "syncfs", "kernel", "threads"


class Rounds:
    """Syncs of some files, and which ways they took."""

    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.path = path
        self.ways: list[str] = []
        self.disk = RealDisk()
        self.files = [self.disk.open(f"{path}/{number}", create=True) for number in range(FILES_MAX + 1)]
        self.syncs = RealSyncs(str(path), self._by_threads)
        for cls, way in ((syncfs.SyncfsProcess, SYNCFS), (kernel_sync.KernelSync, KERNEL)):
            begin = cls.begin
            monkeypatch.setattr(cls, "begin", self._noted(way, begin))

    def _noted(self, way: str, begin: Callable[..., None]) -> Callable[..., None]:
        def noted(*arguments: object) -> None:
            self.ways.append(way)
            begin(*arguments)

        return noted

    def _by_threads(self, jobs: list[Job], done: Done) -> None:
        self.ways.append(THREADS)
        failure = None
        try:
            for job in jobs:
                job()
        except DiskFailed as error:
            failure = error
        asyncio.get_running_loop().call_soon(done, failure)

    def write(self, files: int) -> list[Job]:
        for file in self.files[:files]:
            file.append(b"record")
        return [file.sync_job() for file in self.files[:files]]

    async def run(self, jobs: list[Job]) -> BaseException | None:
        ended: asyncio.Future[BaseException | None] = asyncio.get_running_loop().create_future()
        self.syncs.run(jobs, ended.set_result)
        async with asyncio.timeout(30):
            return await ended

    def close(self) -> None:
        self.syncs.close()
        for file in self.files:
            file.close()


@pytest.fixture
def within(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def run(story: Callable[[Rounds], object]) -> None:
        async def told() -> None:
            rounds = Rounds(tmp_path, monkeypatch)
            try:
                await story(rounds)
            finally:
                rounds.close()

        asyncio.run(told())

    return run


def _needs_syncfs(path: Path) -> None:
    if not is_proof(str(path)):
        pytest.skip("syncfs is no proof on this file system")


@pytest.mark.parametrize("files", [1, FILES_MIN - 1])
def test_a_few_files_are_for_the_kernels_workers(within, files: int) -> None:
    async def story(rounds: Rounds) -> None:
        for _ in range(3):
            assert await rounds.run(rounds.write(files)) is None
        assert rounds.ways == [KERNEL] * 3

    within(story)


def test_many_files_are_synced_as_one(within, tmp_path: Path) -> None:
    _needs_syncfs(tmp_path)

    async def story(rounds: Rounds) -> None:
        assert await rounds.run(rounds.write(FILES_MIN)) is None
        assert rounds.ways[0] == SYNCFS

    within(story)


def test_a_directory_is_for_threads(within, tmp_path: Path) -> None:
    async def story(rounds: Rounds) -> None:
        jobs = [*rounds.write(2), rounds.disk.sync_dir_job(str(tmp_path))]
        assert await rounds.run(jobs) is None
        assert rounds.ways == [THREADS]

    within(story)


def test_files_of_two_devices_are_never_synced_as_one(within, tmp_path: Path) -> None:
    async def story(rounds: Rounds) -> None:
        jobs = rounds.write(FILES_MIN)
        last = jobs[-1]
        assert isinstance(last, FileSync)
        jobs[-1] = FileSync(last.fd, last.device + 1, last.path)
        assert await rounds.run(jobs) is None
        assert rounds.ways == [KERNEL]

    within(story)


def test_where_syncfs_proves_nothing_it_is_not_asked(within, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.broker.disk.syncs.is_proof", lambda path: False)

    async def story(rounds: Rounds) -> None:
        assert await rounds.run(rounds.write(FILES_MIN)) is None
        assert await rounds.run(rounds.write(FILES_MAX + 1)) is None
        assert rounds.ways == [KERNEL, THREADS]

    within(story)


async def _its_process(rounds: Rounds) -> syncfs.SyncfsProcess:
    await rounds.run(rounds.write(FILES_MIN))
    assert rounds.syncs._syncfs is not None
    return rounds.syncs._syncfs


@pytest.mark.parametrize("noticed", [False, True])
def test_when_the_process_dies_the_round_goes_on_without_it(within, tmp_path: Path, noticed: bool) -> None:
    _needs_syncfs(tmp_path)

    async def story(rounds: Rounds) -> None:
        process = await _its_process(rounds)
        os.kill(process._process.pid, signal.SIGKILL)
        async with asyncio.timeout(30):
            while noticed and process.is_alive:  # noqa: ASYNC110
                await asyncio.sleep(0)
        rounds.ways.clear()
        for _ in range(3):
            assert await rounds.run(rounds.write(FILES_MIN)) is None
        assert rounds.ways == ([] if noticed else [SYNCFS]) + [KERNEL] * 3

    within(story)


def test_the_process_ends_with_its_broker(within, tmp_path: Path) -> None:
    _needs_syncfs(tmp_path)

    async def story(rounds: Rounds) -> None:
        process = await _its_process(rounds)
        # As its death would: nobody holds the other end any more.
        process._orders.close()
        assert process._process.wait(timeout=30) == 0

    within(story)


def test_too_much_that_is_dirty_is_synced_file_by_file() -> None:
    few = b"MemTotal:       24576000 kB\nDirty:               100 kB\nWriteback:            24 kB\nAnonPages: 5 kB\n"
    assert dirty_bytes(few) == 124 * 1024 < DIRTY_BYTES_MAX
    assert dirty_bytes(few.replace(b" 24 kB", b" 40000 kB")) > DIRTY_BYTES_MAX


def test_a_file_that_the_kernel_cannot_sync_leaves_all_to_threads(within) -> None:
    async def story(rounds: Rounds) -> None:
        inward, outward = os.pipe()
        try:
            failure = await rounds.run([FileSync(inward, 0, "a pipe")])
        finally:
            os.close(inward)
            os.close(outward)
        # Threads cannot either, and say so.
        assert str(failure) == f"a pipe: {os.strerror(errno.EINVAL)}"
        assert await rounds.run(rounds.write(1)) is None
        assert rounds.ways == [KERNEL, THREADS, THREADS]

    within(story)


def test_a_failure_of_the_disk_is_told_and_not_tried_again(within, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(rounds: Rounds) -> None:
        unpack = kernel_sync._EVENT.unpack_from

        class Failing:
            size = kernel_sync._EVENT.size

            @staticmethod
            def unpack_from(buffer: bytearray, position: int) -> tuple[int, int, int, int]:
                which, at, _, second = unpack(buffer, position)
                return which, at, -errno.EIO if which == 1 else 0, second

        monkeypatch.setattr(kernel_sync, "_EVENT", Failing)
        failure = await rounds.run(rounds.write(3))
        assert isinstance(failure, DiskFailed)
        assert f"{rounds.path}/1" in str(failure)
        assert rounds.ways == [KERNEL]

    within(story)


def test_a_kernel_that_stops_offering_it_costs_nothing_but_time(within, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story(rounds: Rounds) -> None:
        kernel = rounds.syncs._kernel
        assert kernel is not None
        monkeypatch.setattr(kernel, "_submit", 1_000_000)
        for _ in range(2):
            assert await rounds.run(rounds.write(2)) is None
        assert rounds.ways == [KERNEL, THREADS, THREADS]

    within(story)


def test_without_the_kernels_offer_files_are_synced_by_threads(within, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sync.platform, "machine", lambda: "pdp11")

    async def story(rounds: Rounds) -> None:
        assert await rounds.run(rounds.write(2)) is None
        assert rounds.ways == [THREADS]

    within(story)
