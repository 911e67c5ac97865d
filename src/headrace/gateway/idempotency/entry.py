"""The memory of one POST in a slot: its key, a fingerprint of the request, and where the messages are."""

import hashlib
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import NamedTuple

import orjson

from headrace.client.produce.outgoing import Delivered
from headrace.gateway.idempotency.places import pack_places, unpack_places
from headrace.wire.records import Record

VERSION = 2
# A minute more than promised: clocks differ, and a retry takes a while to arrive.
KEPT_MS = 11 * 60 * 1000
# What an entry takes beside its key and its places, about.
ENTRY_BYTES = 400


class Entry(NamedTuple):
    fingerprint: str
    places: bytes
    """Packed."""

    @property
    def results(self) -> list[Delivered]:
        return unpack_places(self.places)


OF_ANOTHER_VERSION = Entry("", b"")
"""Stands for one that a newer gateway wrote: the messages are stored, and where is not known here."""


def slot_key(topic: str, idempotency_key: str) -> bytes:
    """The same key for two topics is two keys."""
    return f"{topic}\n{idempotency_key}".encode()


def slot_of(key: bytes, slots: int) -> int:
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big") % slots


def fingerprint(body: bytes) -> str:
    return hashlib.blake2b(body, digest_size=16).hexdigest()


def encode_entry(entry: Entry) -> bytes:
    places = b64encode(entry.places).decode()
    return orjson.dumps({"version": VERSION, "fingerprint": entry.fingerprint, "places": places})


def decode_entry(value: bytes) -> Entry:
    fields = orjson.loads(value)
    match fields["version"]:
        case 2:
            return Entry(fields["fingerprint"], b64decode(fields["places"]))
        case 1:
            # It had a list of three numbers for each message.
            return Entry(fields["fingerprint"], pack_places([Delivered(*result) for result in fields["results"]]))
    return OF_ANOTHER_VERSION


class Entries:
    """The entries of one slot by key, kept as long as they must be."""

    def __init__(self) -> None:
        self._kept: dict[bytes, tuple[int, Entry]] = {}
        self.bytes = 0
        """The approximate size of the entries in memory."""

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: bytes, now_ms: int) -> Entry | None:
        at, entry = self._kept.get(key, (0, None))
        return entry if at + KEPT_MS > now_ms else None

    def add(self, key: bytes, entry: Entry, at_ms: int) -> None:
        # The newest stands last, so that the oldest are found first.
        self._drop(key)
        self._kept[key] = (at_ms, entry)
        self.bytes += _size(key, entry)

    def _drop(self, key: bytes) -> None:
        _, entry = self._kept.pop(key, (0, None))
        if entry is not None:
            self.bytes -= _size(key, entry)

    def add_record(self, record: Record) -> None:
        if record.value and record.key is not None:
            self.add(record.key, decode_entry(record.value), record.timestamp)

    def forget_old(self, now_ms: int) -> None:
        for key in list(self._expired(now_ms)):
            self._drop(key)

    def _expired(self, now_ms: int) -> Iterator[bytes]:
        for key, (at, _) in self._kept.items():
            if at + KEPT_MS > now_ms:
                return
            yield key


def _size(key: bytes, entry: Entry) -> int:
    return ENTRY_BYTES + len(key) + len(entry.places)
