"""Which partition of __consumer_offsets keeps a group: the same one that Kafka's own tools compute."""


def partition_of(group_id: str, partition_count: int) -> int:
    hashed = java_hash(group_id)
    # Java has no positive counterpart of its smallest integer; Kafka takes 0 for it.
    return 0 if hashed == -(2**31) else abs(hashed) % partition_count


def java_hash(text: str) -> int:
    """String.hashCode: over UTF-16 code units, wrapping at 32 bits, signed."""
    hashed = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        hashed = (hashed * 31 + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return hashed - 2**32 if hashed >= 2**31 else hashed
