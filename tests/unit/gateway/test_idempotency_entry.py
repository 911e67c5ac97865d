"""What a slot remembers, and for how long."""

import random

import pytest

from headrace.client.produce.outgoing import Delivered
from headrace.gateway.idempotency.entry import (
    ENTRY_BYTES,
    KEPT_MS,
    OF_ANOTHER_VERSION,
    Entries,
    Entry,
    decode_entry,
    encode_entry,
    slot_key,
    slot_of,
)
from headrace.gateway.idempotency.places import pack_places, unpack_places
from headrace.wire.records import Record

PLACES = [Delivered(0, 7, 1000), Delivered(3, 2**40, -1), Delivered(0, 9, 1000), Delivered(0, 3, 999)]
ENTRY = Entry("f00d", pack_places(PLACES))
TEN_MINUTES_MS = 600_000


def test_an_entry_is_read_as_it_was_written() -> None:
    assert decode_entry(encode_entry(ENTRY)) == ENTRY
    assert ENTRY.results == PLACES


def test_what_an_older_gateway_wrote_is_read() -> None:
    old = b'{"version":1,"fingerprint":"f00d","results":[[0,7,1000],[3,1099511627776,-1],[0,9,1000],[0,3,999]]}'
    assert decode_entry(old) == ENTRY


def test_a_key_that_a_newer_gateway_answered_is_known() -> None:
    """It is known that its key was used, so nothing is stored a second time."""
    newer = b'{"version": 3, "shape": "unknown"}'
    entries = Entries()
    entries.add_record(Record(0, 1000, b"k", newer, []))
    assert entries.get(b"k", 1000) is OF_ANOTHER_VERSION


def test_a_large_batch_is_few_bytes() -> None:
    """Its messages go to twelve partitions by their keys, one by one."""
    chance = random.Random(7)
    next_offsets = [10**9] * 12
    places = []
    for number in range(10_000):
        partition = chance.randrange(12)
        places.append(Delivered(partition, next_offsets[partition], 1_790_000_000_000 + number // 100))
        next_offsets[partition] += 1
    packed = pack_places(places)
    assert unpack_places(packed) == places
    assert len(packed) < 2 * len(places)
    assert len(pack_places(places[:1])) < 40


def test_what_is_remembered_is_weighed() -> None:
    entries = Entries()
    for at_ms in (1000, 2000):
        entries.add(b"again", ENTRY, at_ms)
    entries.add(b"other", ENTRY, at_ms=3000)
    assert entries.bytes == 2 * (ENTRY_BYTES + 5 + len(ENTRY.places))
    entries.forget_old(2000 + KEPT_MS)
    assert entries.bytes == ENTRY_BYTES + 5 + len(ENTRY.places)
    entries.forget_old(3000 + KEPT_MS)
    assert entries.bytes == len(entries) == 0


def test_a_key_is_known_for_ten_minutes_and_forgotten_later() -> None:
    entries = Entries()
    entries.add(b"k", ENTRY, at_ms=1000)
    assert entries.get(b"k", 1000 + TEN_MINUTES_MS) == ENTRY
    assert entries.get(b"k", 1000 + KEPT_MS) is None
    assert entries.get(b"other", 1000) is None


def test_only_the_old_ones_are_forgotten() -> None:
    entries = Entries()
    for number in range(10):
        entries.add(b"%d" % number, ENTRY, at_ms=number * 1000)
    entries.add(b"0", ENTRY, at_ms=9000)
    entries.forget_old(4000 + KEPT_MS)
    assert len(entries) == 6
    assert entries.get(b"0", KEPT_MS) == ENTRY


@pytest.mark.parametrize("record", [Record(key=b"k", value=None), Record(key=None, value=encode_entry(ENTRY))])
def test_records_that_are_no_entries_are_skipped(record: Record) -> None:
    entries = Entries()
    entries.add_record(record)
    assert len(entries) == 0


def test_a_key_belongs_to_its_topic_and_to_one_slot() -> None:
    assert slot_key("a", "k") != slot_key("b", "k")
    slots = {slot_of(slot_key("orders", str(number)), 8) for number in range(200)}
    assert slots == set(range(8))
    assert slot_of(slot_key("orders", "7"), 8) == slot_of(slot_key("orders", "7"), 8)
