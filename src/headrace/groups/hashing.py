"""The partition of __consumer_offsets that keeps a group: the same one that Kafka's own tools compute."""

import sys
from functools import lru_cache

# A group that commits does so again and again. Longer names are not kept: ten thousand of them would take memory.
REMEMBERED = 10_000
REMEMBERED_LENGTH_MAX = 200
_UTF_16 = "utf-16-le" if sys.byteorder == "little" else "utf-16-be"


def partition_of(group_id: str, partition_count: int) -> int:
    hashed = _remembered(group_id) if len(group_id) <= REMEMBERED_LENGTH_MAX else java_hash(group_id)
    # Java has no positive counterpart of its smallest integer; Kafka takes 0 for it.
    return 0 if hashed == -(2**31) else abs(hashed) % partition_count


def java_hash(text: str) -> int:
    """String.hashCode: over UTF-16 code units, wrapping at 32 bits, signed."""
    hashed = 0
    for unit in memoryview(text.encode(_UTF_16, "surrogatepass")).cast("H"):
        hashed = (hashed * 31 + unit) & 0xFFFFFFFF
    return hashed - 2**32 if hashed >= 2**31 else hashed


_remembered = lru_cache(REMEMBERED)(java_hash)
