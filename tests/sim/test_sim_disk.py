"""The simulated disk keeps what was synced, and only that for sure."""

from random import Random

import pytest

from headrace.base.errors import DiskFailed, DiskFull, UserError
from sim.disk import Crashed, SimDisk
from sim.inodes import SECTOR

SEEDS = range(200)


def machine_with(content: bytes) -> SimDisk:
    """A disk with one durable file."""
    machine = SimDisk()
    disk = machine.mount()
    file = disk.open("/file", create=True)
    file.append(content)
    file.sync_job()()
    disk.sync_dir_job("/")()
    return machine


def after_crash(machine: SimDisk, seed: int, path: str = "/file") -> bytes | None:
    machine.crash(Random(seed))
    disk = machine.mount()
    return disk.read(path) if disk.exists(path) else None


def test_what_was_synced_stays_and_the_rest_may_go() -> None:
    ends = set()
    for seed in SEEDS:
        machine = machine_with(b"synced")
        machine.mount().open("/file").append(b"x" * 3 * SECTOR)
        content = after_crash(machine, seed)
        assert content is not None
        assert content.startswith(b"synced")
        ends.add(len(content))
    assert {6, 6 + 3 * SECTOR} < ends


def test_writes_tear_at_sectors_and_a_later_one_may_outlive_an_earlier_one() -> None:
    torn = reordered = False
    for seed in SEEDS:
        machine = machine_with(b"")
        file = machine.mount().open("/file")
        file.append(b"a" * SECTOR)
        file.append(b"b" * 2 * SECTOR)
        content = after_crash(machine, seed)
        assert content is not None
        sectors = [content[at : at + SECTOR] for at in range(0, len(content), SECTOR)]
        assert all(len(set(sector)) == 1 for sector in sectors)
        torn |= b"b" * SECTOR in sectors and b"b" * 2 * SECTOR not in content
        reordered |= b"b" in content and b"a" not in content
    assert torn
    assert reordered


def test_a_sync_covers_what_was_written_before_it_began() -> None:
    lost = 0
    for seed in SEEDS:
        machine = machine_with(b"")
        file = machine.mount().open("/file")
        file.append(b"before")
        job = file.sync_job()
        file.append(b"after")
        job()
        content = after_crash(machine, seed)
        assert content is not None
        assert content.startswith(b"before")
        lost += content == b"before"
    assert lost


def test_a_sync_that_did_not_run_proves_nothing() -> None:
    contents = set()
    for seed in SEEDS:
        machine = machine_with(b"")
        file = machine.mount().open("/file")
        file.append(b"written")
        file.sync_job()
        contents.add(after_crash(machine, seed))
    assert contents >= {b"", b"written"}


@pytest.mark.parametrize("synced", [True, False])
def test_names_are_durable_with_their_directory(synced: bool) -> None:
    found = set()
    for seed in SEEDS:
        machine = machine_with(b"content")
        disk = machine.mount()
        disk.rename("/file", "/renamed")
        if synced:
            disk.sync_dir_job("/")()
        machine.crash(Random(seed))
        found.add(tuple(machine.mount().listdir("/")))
    assert found == ({("renamed",)} if synced else {("file",), ("renamed",)})


def test_a_synced_file_in_an_unsynced_directory_may_be_gone() -> None:
    found = set()
    for seed in SEEDS:
        machine = SimDisk()
        disk = machine.mount()
        disk.mkdir("/a/b")
        file = disk.open("/a/b/file", create=True)
        file.append(b"content")
        file.sync_job()()
        disk.sync_dir_job("/a/b")()
        found.add(after_crash(machine, seed, "/a/b/file"))
    assert found == {None, b"content"}


def test_write_atomic_is_durable_at_once() -> None:
    for seed in SEEDS:
        machine = machine_with(b"old")
        machine.mount().write_atomic("/file", b"new")
        assert after_crash(machine, seed) == b"new"


def test_a_kill_keeps_the_page_cache_and_ends_every_handle() -> None:
    machine = machine_with(b"synced")
    disk = machine.mount()
    file = disk.open("/file")
    file.append(b" and not")
    job = file.sync_job()
    machine.kill()
    for use in (lambda: file.append(b"!"), lambda: file.pread(1, 0), job, lambda: disk.exists("/file")):
        with pytest.raises(Crashed):
            use()
    assert machine.mount().read("/file") == b"synced and not"
    machine.crash(Random(1))
    assert machine.mount().read("/file").startswith(b"synced")


def test_the_same_seed_gives_the_same_crash() -> None:
    def crashed(seed: int) -> bytes | None:
        machine = machine_with(b"")
        file = machine.mount().open("/file")
        for letter in b"abcdef":
            file.append(bytes([letter]) * 700)
        return after_crash(machine, seed)

    assert [crashed(seed) for seed in range(20)] == [crashed(seed) for seed in range(20)]


def test_a_failed_sync_loses_what_it_covered_for_good() -> None:
    machine = machine_with(b"synced")
    file = machine.mount().open("/file")
    file.append(b" and lost")
    machine.fail_syncs.append("/file")
    with pytest.raises(DiskFailed):
        file.sync_job()()
    file.sync_job()()
    assert machine.mount().read("/file") == b"synced and lost"
    assert after_crash(machine, 1) == b"synced"


def test_names_of_a_failed_sync_are_on_disk_with_the_next_and_not_before() -> None:
    """As with a journal: it keeps what it could not commit, or takes no more changes, but never goes on without."""
    for syncs, expected in ((0, {None, b"content"}), (1, {b"content"})):
        found = set()
        for seed in SEEDS:
            machine = SimDisk()
            disk = machine.mount()
            file = disk.open("/file", create=True)
            file.append(b"content")
            file.sync_job()()
            machine.fail_syncs.append("/")
            with pytest.raises(DiskFailed):
                disk.sync_dir_job("/")()
            for _ in range(syncs):
                disk.sync_dir_job("/")()
            found.add(after_crash(machine, seed))
        assert found == expected


def test_faults() -> None:
    machine = machine_with(b"12345")
    disk = machine.mount()
    file = disk.open("/file")
    machine.capacity_bytes = 8
    with pytest.raises(DiskFull):
        file.append(b"6789")
    assert file.size == 5
    file.append(b"678")
    assert disk.free_bytes("/") == 0
    machine.capacity_bytes = None
    machine.fail_writes.append("file")
    with pytest.raises(DiskFailed):
        file.append(b"9")
    file.append(b"9")
    machine.flip_bit("/file", 0, 1)
    assert disk.read("/file") == b"323456789"[:1] + b"23456789"


def test_a_lock_is_held_by_one() -> None:
    machine = SimDisk()
    disk = machine.mount()
    release = disk.lock("/lock")
    with pytest.raises(UserError):
        disk.lock("/lock")
    release()
    disk.lock("/lock")
    machine.mount().lock("/lock")
