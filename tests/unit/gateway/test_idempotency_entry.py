"""What a slot remembers, and for how long."""

import pytest

from headrace.gateway.idempotency.entry import KEPT_MS, Entries, Entry, decode_entry, encode_entry, slot_key, slot_of
from headrace.gateway.produce.outgoing import Delivered
from headrace.wire.records import Record

ENTRY = Entry("f00d", (Delivered(0, 7, 1000), Delivered(3, 2**40, -1)))
TEN_MINUTES_MS = 600_000


def test_an_entry_is_read_as_it_was_written() -> None:
    assert decode_entry(encode_entry(ENTRY)) == ENTRY


def test_what_a_newer_gateway_wrote_is_left_alone() -> None:
    assert decode_entry(b'{"version": 2, "shape": "unknown"}') is None


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
