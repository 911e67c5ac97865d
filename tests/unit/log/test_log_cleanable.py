"""How dirty a log is, and the map of keys that cleaning needs."""

from typing import NamedTuple

import pytest

from headrace.log.cleanable import Dirt, dirt, is_due
from headrace.log.key_offsets import NEVER, SLOT_BYTES, KeyOffsets, bytes_for

FOREVER = 1 << 62


class Held(NamedTuple):
    base_offset: int
    next_offset: int
    size: int
    max_timestamp: int


HELD = [Held(0, 10, 100, 1000), Held(10, 20, 200, 3000), Held(20, 30, 400, 2000), Held(30, 35, 40, 9000)]


def test_all_but_the_active_segment_is_dirty_at_first() -> None:
    assert dirt(HELD, 0, 35, FOREVER) == Dirt(30, 0, 700)
    assert dirt(HELD, 0, 35, FOREVER).ratio == 1
    assert dirt(HELD[-1:], 0, 35, FOREVER) == Dirt(30, 0, 0)


def test_what_was_cleaned_is_clean() -> None:
    assert dirt(HELD, 10, 35, FOREVER) == Dirt(30, 100, 600)
    assert dirt(HELD, 30, 35, FOREVER) == Dirt(30, 700, 0)
    assert dirt(HELD, 15, 35, FOREVER) == Dirt(30, 100, 600), "cleaned in part is dirty"


def test_nothing_that_is_not_committed_is_cleaned() -> None:
    assert dirt(HELD, 0, 29, FOREVER) == Dirt(20, 0, 300)
    assert dirt(HELD, 0, 0, FOREVER) == Dirt(0, 0, 0)


def test_what_is_young_ends_it_unless_it_is_clean_already() -> None:
    assert dirt(HELD, 0, 35, 3000) == Dirt(10, 0, 100)
    assert dirt(HELD, 20, 35, 2500) == Dirt(30, 300, 400)


def test_when_it_is_due() -> None:
    half = Dirt(30, 100, 100)
    assert is_due(half, 0.4, None, 0)
    assert not is_due(half, 0.5, None, 0)
    assert is_due(half, 0.9, 99, 100), "one has waited for too long"
    assert not is_due(half, 0.9, 100, 100)
    assert not is_due(Dirt(30, 100, 0), 0.0, 0, 100), "nothing is dirty"


def test_the_newest_offset_of_each_key() -> None:
    newest = KeyOffsets(bytes_for(1000), b"secret")
    for offset in range(3000):
        newest.put(f"{offset % 1000}".encode(), offset)
    assert newest.keys == 1000
    assert all(newest.get(f"{key}".encode()) == 2000 + key for key in range(1000))
    assert newest.get(b"another") == NEVER
    assert newest.get(b"") == NEVER


def test_a_full_map_says_so() -> None:
    newest = KeyOffsets(40 * SLOT_BYTES, b"secret")
    assert newest.has_room_for(30)
    assert not newest.has_room_for(31)
    for number in range(30):
        newest.put(b"%d" % number, number)
    assert not newest.has_room_for(1)
    newest.put(b"7", 99)
    assert newest.get(b"7") == 99
    with pytest.raises(AssertionError):
        newest.put(b"one more", 100)
