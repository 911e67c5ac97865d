"""Room for clients' writes: refused below the reserve, at once and not a tick too late, and again accepted above it."""

import pytest

from headrace.base.errors import Refused
from headrace.base.probe import Probes
from headrace.broker.disk_room import RESERVE_BYTES, DiskRoom
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
