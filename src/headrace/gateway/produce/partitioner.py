"""Which partition a key goes to: as with the Java client, so that one key has one partition whoever writes it."""

from functools import lru_cache

_MASK = 0xFFFFFFFF
_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
KNOWN_MAX = 1 << 14


@lru_cache(KNOWN_MAX)
def key_hash(key: bytes) -> int:
    """Murmur2, without its sign. Remembered for a while: most keys come again."""
    whole = len(key) & ~3
    hash = _SEED ^ len(key)
    for at in range(0, whole, 4):
        word = int.from_bytes(key[at : at + 4], "little") * _MULTIPLIER & _MASK
        hash = (hash * _MULTIPLIER & _MASK) ^ ((word ^ word >> 24) * _MULTIPLIER & _MASK)
    if whole < len(key):
        hash = (hash ^ int.from_bytes(key[whole:], "little")) * _MULTIPLIER & _MASK
    hash = (hash ^ hash >> 13) * _MULTIPLIER & _MASK
    return (hash ^ hash >> 15) & 0x7FFFFFFF
