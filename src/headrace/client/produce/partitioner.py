"""The partition of a key: as with the Java client, so that one key has one partition whoever writes it."""

from collections.abc import Sequence

from headrace.client.produce.outgoing import Outgoing
from headrace.client.produce.texts import Texts

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
KNOWN_MAX, KNOWN_BYTES_MAX = 1 << 14, 1 << 8


def partitions_of(messages: Sequence[Outgoing], count: int, turn: int) -> list[int]:
    """The partition of each message: explicit (which may not exist), by key hash, or round robin."""
    if not isinstance(messages, Texts):
        return [
            partition if partition >= 0 else turn if key is None else _hashes[key] % count
            for _, key, _, partition, _ in messages
        ]
    if messages.keys is None:
        return [turn] * len(messages)
    return [hash % count for hash in map(_hashes.__getitem__, messages.keys)]


def key_bytes(messages: Sequence[Outgoing]) -> int:
    """The number of bytes to hash, which takes Python forty times as long as all else that is done with a byte."""
    if isinstance(messages, Texts):
        return sum(map(len, messages.keys or ()))
    return sum(len(key) for _, key, _, _, _ in messages if key)


def key_hash(key: bytes) -> int:
    """Murmur2, without its sign."""
    whole = len(key) & ~3
    hash = _SEED ^ len(key)
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _MULTIPLIER & _MASK
        hash = (hash * _MULTIPLIER & _MASK) ^ ((word ^ word >> 24) * _MULTIPLIER & _MASK)
    if whole < len(key):
        hash = (hash ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _MASK
    hash = (hash ^ hash >> 13) * _MULTIPLIER & _MASK
    return (hash ^ hash >> 15) & 0x7FFFFFFF


class _Hashes(dict[bytes | str, int]):
    """Short ones are remembered for a while: most come again. A text stands for its Latin-1."""

    def __missing__(self, key: bytes | str) -> int:
        hash = key_hash(key if isinstance(key, bytes) else key.encode("latin-1"))
        if len(key) <= KNOWN_BYTES_MAX:
            if len(self) >= KNOWN_MAX:
                self.clear()
            self[key] = hash
        return hash


_hashes = _Hashes()
