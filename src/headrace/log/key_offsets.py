"""The newest offset of each key, in a fixed piece of memory: what compaction asks about every record.

One table of slots, open addressing; a slot holds a digest of the key and its offset, never the key. The digest is keyed
with a secret of the run, so that nobody can prepare two keys that pass for one.

Invariant: an offset never goes back, and a full table says so before it would forget anything.
"""

import struct
from hashlib import blake2b

_DIGEST_BYTES = 16
SLOT_BYTES = _DIGEST_BYTES + 8
_LOAD_MAX = 0.75
_EMPTY = bytes(_DIGEST_BYTES)
_HASH = struct.Struct("<Q")
NEVER = -1


def bytes_for(keys: int) -> int:
    """Memory that holds this many keys."""
    return SLOT_BYTES * (int(keys / _LOAD_MAX) + 2)


class KeyOffsets:
    __slots__ = ("_keys_max", "_secret", "_slots", "_table", "keys")

    def __init__(self, memory_bytes: int, secret: bytes) -> None:
        self._slots = max(2, memory_bytes // SLOT_BYTES)
        self._table = bytearray(self._slots * SLOT_BYTES)
        self._keys_max = max(1, int(self._slots * _LOAD_MAX))
        self._secret = secret
        self.keys = 0

    def has_room_for(self, keys: int) -> bool:
        return self.keys + keys <= self._keys_max

    def put(self, key: bytes, offset: int) -> None:
        """Offsets of one key come in rising order."""
        digest = blake2b(key, digest_size=_DIGEST_BYTES, key=self._secret).digest()
        at = self._find(digest)
        table = self._table
        if table[at : at + _DIGEST_BYTES] == _EMPTY:
            assert self.keys < self._keys_max, "the table is full"
            table[at : at + _DIGEST_BYTES] = digest
            self.keys += 1
        table[at + _DIGEST_BYTES : at + SLOT_BYTES] = offset.to_bytes(8, "little")

    def get(self, key: bytes) -> int:
        """The newest offset, or NEVER."""
        digest = blake2b(key, digest_size=_DIGEST_BYTES, key=self._secret).digest()
        at = self._find(digest)
        table = self._table
        if table[at : at + _DIGEST_BYTES] == _EMPTY:
            return NEVER
        return int.from_bytes(table[at + _DIGEST_BYTES : at + SLOT_BYTES], "little")

    def _find(self, digest: bytes) -> int:
        """Where the digest is, or the free slot where it belongs: there is always one."""
        table = self._table
        at: int = _HASH.unpack_from(digest)[0] % self._slots * SLOT_BYTES
        while True:
            stored = table[at : at + _DIGEST_BYTES]
            if stored in (digest, _EMPTY):
                return at
            at += SLOT_BYTES
            if at == len(table):
                at = 0
