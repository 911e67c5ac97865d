"""Room for clients' writes: refused below the reserve, at once and not a tick too late, and again accepted above it."""

import pytest

from headrace.base.errors import DiskFull, Refused
from headrace.base.probe import Probes
from headrace.broker.disk.room import COPIES_SHARE, LEAD_AGAIN_SHARE, RESERVE_BYTES, DiskRoom
from headrace.wire.codes import ErrorCode

GIB = 1 << 30


class Sizes:
    """As much of a disk as the watch over it asks for."""

    def __init__(self, total: int, free: int) -> None:
        self.total = total
        self.free = free
        self.asked = 0

    def total_bytes(self, path: str) -> int:
        return self.total

    def free_bytes(self, path: str) -> int:
        self.asked += 1
        return self.free


@pytest.mark.parametrize(
    ("total", "reserve"),
    [(20 * GIB, GIB), (1000 * GIB, 20 * GIB), (4 * GIB, 4 * GIB // 10), (48 << 20, (48 << 20) // 10)],
)
def test_the_reserve_follows_the_size_of_the_disk(total: int, reserve: int) -> None:
    assert DiskRoom(Sizes(total, total), "/data", Probes()).reserve_bytes == reserve


def test_writes_are_refused_below_the_reserve_and_taken_above() -> None:
    disk = Sizes(20 * GIB, RESERVE_BYTES - 1)
    room = DiskRoom(disk, "/data", Probes())
    with pytest.raises(Refused) as refused:
        room.check()
    assert refused.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "free space or lower retention" in refused.value.message
    disk.free = RESERVE_BYTES
    room.check()
    assert not room.is_low


def test_the_disk_is_asked_again_when_the_room_may_be_used_up() -> None:
    probes = Probes()
    disk = Sizes(20 * GIB, RESERVE_BYTES + 1000)
    room = DiskRoom(disk, "/data", probes)
    asked = disk.asked
    for _ in range(9):
        probes.bytes_received += 100
        room.check()
    assert disk.asked == asked, "nobody could have used it up yet"
    disk.free = RESERVE_BYTES - 1
    probes.bytes_received += 100
    with pytest.raises(Refused):
        room.check()


def test_copies_leave_a_smaller_reserve() -> None:
    disk = Sizes(20 * GIB, RESERVE_BYTES // COPIES_SHARE + 1000)
    room = DiskRoom(disk, "/data", Probes())
    assert room.is_low
    room.check_copy(600)
    disk.free -= 600
    with pytest.raises(DiskFull, match="free space or lower retention"):
        room.check_copy(600)
    room.check_copy(400)
    disk.free = 2 * RESERVE_BYTES
    asked = disk.asked
    for _ in range(10):
        room.check_copy(1000)
    assert disk.asked == asked + 1, "not for every batch"


def test_a_disk_that_was_full_leads_again_with_clearly_more_than_the_reserve() -> None:
    disk = Sizes(20 * GIB, RESERVE_BYTES)
    room = DiskRoom(disk, "/data", Probes())
    assert not room.is_full
    disk.free = RESERVE_BYTES - 1
    room.look()
    assert room.is_full
    disk.free = RESERVE_BYTES + RESERVE_BYTES // LEAD_AGAIN_SHARE - 1
    room.look()
    assert (room.is_low, room.is_full) == (False, True)
    disk.free += 1
    room.look()
    assert not room.is_full
