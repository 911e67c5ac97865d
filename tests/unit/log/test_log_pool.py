"""Open files and loaded indexes stay within their bounds."""

import pytest
from logs import NOW, PATH, SMALL, Rig

from headrace.log import FilePool, open_log
from headrace.log.index import SparseIndex
from headrace.log.pool import IndexCache
from sim.disk import Mount, SimDisk


def mounted() -> Mount:
    disk = SimDisk().mount()
    for name in "abcd":
        disk.open(f"/{name}", create=True)
    return disk


def test_the_least_recently_used_file_is_closed() -> None:
    pool = FilePool(mounted(), open_max=2)
    first, second = pool.open("/a"), pool.open("/b")
    assert pool.open("/a") is first
    pool.open("/c")
    assert pool.open("/a") is first
    assert pool.open("/b") is not second
    with pytest.raises(AssertionError, match="closed"):
        second.pread(1, 0)


def test_a_pinned_file_is_never_closed() -> None:
    pool = FilePool(mounted(), open_max=1)
    first = pool.open("/a")
    first.pin()
    pool.open("/b")
    pool.open("/c")
    assert pool.open("/a") is first
    first.unpin()
    pool.open("/b")
    assert len(pool) == 1


def test_a_forgotten_file_closes_with_its_last_pin() -> None:
    pool = FilePool(mounted())
    file = pool.open("/a")
    file.pin()
    pool.forget("/a")
    assert file.pread(1, 0) == b""
    file.unpin()
    with pytest.raises(AssertionError, match="closed"):
        file.pread(1, 0)


def test_indexes_are_bounded_by_bytes_and_the_newest_stays() -> None:
    cache = IndexCache(bytes_max=20_000)
    for number in range(10):
        cache.put(str(number), SparseIndex())
    assert len(cache) == 4
    assert cache.get("5") is None
    assert cache.get("6") is not None
    large = SparseIndex()
    for number in range(5000):
        large.add(number, number, number)
    cache.put("large", large)
    assert len(cache) == 1
    assert cache.get("large") is large
    cache.forget("large")
    cache.put("small", SparseIndex())
    assert len(cache) == 1


def test_a_log_works_through_the_smallest_pool() -> None:
    rig = Rig()
    batches = rig.fill(60)
    rig.sync()
    pool = FilePool(rig.disk, open_max=1, index_bytes_max=1)
    rig.log, _ = open_log(pool, PATH, SMALL, NOW, recovery_point=60, clean=False)
    for offset in (3, 59, 30, 0, 45):
        assert rig.read(offset, 1) == batches[offset]
    rig.sync()
    assert rig.contents() == batches
    assert len(pool) <= 1
    assert len(pool.indexes) <= 1
