"""What a slot remembers of one POST: its key, a fingerprint of what was asked, and where the messages are."""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from headrace.gateway.produce.outgoing import Delivered
from headrace.wire.records import Record

VERSION = 1
# A minute more than promised: clocks differ, and a retry takes a while to arrive.
KEPT_MS = 11 * 60 * 1000


class Entry(NamedTuple):
    fingerprint: str
    results: tuple[Delivered, ...]


def slot_key(topic: str, idempotency_key: str) -> bytes:
    """The same key for two topics is two keys."""
    return f"{topic}\n{idempotency_key}".encode()


def slot_of(key: bytes, slots: int) -> int:
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") % slots


def fingerprint(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def encode_entry(entry: Entry) -> bytes:
    results = [list(result) for result in entry.results]
    return orjson.dumps({"version": VERSION, "fingerprint": entry.fingerprint, "results": results})


def decode_entry(value: bytes) -> Entry | None:
    """None for what a newer gateway may have written."""
    fields = orjson.loads(value)
    if fields["version"] != VERSION:
        return None
    return Entry(fields["fingerprint"], tuple(Delivered(*result) for result in fields["results"]))


class Entries:
    """Those of one slot, by key, as old as they have to be."""

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[int, Entry]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes, now_ms: int) -> Entry | None:
        at, entry = self._kept.get(key, (0, None))
        return entry if at + KEPT_MS > now_ms else None

    def add(self, key: bytes, entry: Entry, at_ms: int) -> None:
        # The newest stands last, so that the oldest are found first.
        self._kept.pop(key, None)
        self._kept[key] = (at_ms, entry)

    def add_record(self, record: Record) -> None:
        entry = decode_entry(record.value) if record.value else None
        if entry is not None and record.key is not None:
            self.add(record.key, entry, record.timestamp)

    def forget_old(self, now_ms: int) -> None:
        for key in list(self._expired(now_ms)):
            del self._kept[key]

    def _expired(self, now_ms: int) -> Iterator[bytes]:
        for key, (at, _) in self._kept.items():
            if at + KEPT_MS > now_ms:
                return
            yield key
