"""Stepping through a log file: whole batches, or `CorruptBatch`, but never one that the end cuts."""

import pytest

from headrace.log.walk import steps, walk
from headrace.wire.batch import CorruptBatch
from headrace.wire.records import Record, build_batch
from sim.disk import SimDisk

BATCHES = [build_batch([Record(value=b"v" * 100)], base_offset=offset) for offset in range(3)]
SIZE = len(BATCHES[0])


def file_of(content: bytes):
    file = SimDisk().mount().open("/log", create=True)
    file.append(content)
    return file


def test_whole_batches() -> None:
    file = file_of(b"".join(BATCHES))
    assert [(position, header.base_offset) for position, header in walk(file, 0, file.size)] == [
        (0, 0),
        (SIZE, 1),
        (2 * SIZE, 2),
    ]
    assert list(steps(file, SIZE, file.size)) == [(SIZE, 2 * SIZE, 2), (2 * SIZE, 3 * SIZE, 3)]


@pytest.mark.parametrize("missing", [1, 50, SIZE - 61, SIZE - 60, SIZE - 1])
@pytest.mark.parametrize("way", [walk, steps])
def test_a_batch_that_the_end_cuts(way, missing: int) -> None:
    file = file_of(b"".join(BATCHES)[:-missing])
    with pytest.raises(CorruptBatch):
        list(way(file, 0, file.size))


@pytest.mark.parametrize("way", [walk, steps])
@pytest.mark.parametrize("length", [-1, 0, 48, 1 << 30])
def test_a_length_that_cannot_be(way, length: int) -> None:
    batch = bytearray(BATCHES[1])
    batch[8:12] = length.to_bytes(4, "big", signed=True)
    file = file_of(BATCHES[0] + bytes(batch) + BATCHES[2])
    with pytest.raises(CorruptBatch):
        list(way(file, 0, file.size))
