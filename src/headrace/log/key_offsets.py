"""The newest offset of each key, in a fixed piece of memory: compaction looks every record up here.

One table of slots, open addressing; a slot holds 128 bits of hash and an offset, never the key. The hashes are the
interpreter's own for bytes, over the key with two secrets of the run before it, so that nobody can prepare two keys
that pass for one.

Invariant: a full table says so before it would forget anything.
"""

import struct

_SLOT = struct.Struct("<qqq")
SLOT_BYTES = _SLOT.size
_LOAD_MAX = 0.75
NEVER = -1


def bytes_for(keys: int) -> int:
    """The bytes of memory that hold this many keys."""
    return SLOT_BYTES * (int(keys / _LOAD_MAX) + 2)


class KeyOffsets:
    __slots__ = ("_keys_max", "_one", "_other", "_slots", "_table", "keys")

    def __init__(self, memory_bytes: int, secret: bytes) -> None:
        self._slots = max(2, memory_bytes // SLOT_BYTES)
        self._table = bytearray(self._slots * SLOT_BYTES)
        self._keys_max = max(1, int(self._slots * _LOAD_MAX))
        self._one = secret
        self._other = secret[::-1] + b"\0"
        self.keys = 0

    def has_room_for(self, keys: int) -> bool:
        return self.keys + keys <= self._keys_max

    def put(self, key: bytes, offset: int) -> None:
        one, other = hash(self._one + key), hash(self._other + key)
        at, before = self._find(one, other)
        if before == NEVER:
            assert self.keys < self._keys_max, "the table is full"
            self.keys += 1
        # An empty slot is all zeros, so what is stored is one more.
        _SLOT.pack_into(self._table, at, one, other, offset + 1)

    def get(self, key: bytes) -> int:
        """The newest offset of the key, or NEVER."""
        return self._find(hash(self._one + key), hash(self._other + key))[1]

    def _find(self, one: int, other: int) -> tuple[int, int]:
        """The slot that holds the key, with its offset, or else the free slot where it belongs: there is always one."""
        table, unpack = self._table, _SLOT.unpack_from
        at = one % self._slots * SLOT_BYTES
        while True:
            stored_one, stored_other, stored = unpack(table, at)
            if stored == 0 or (stored_one == one and stored_other == other):
                return at, stored - 1
            at += SLOT_BYTES
            if at == len(table):
                at = 0
