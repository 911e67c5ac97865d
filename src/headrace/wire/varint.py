"""Zig-zag integers of variable length, as records use them (messages use the unsigned kind, see `primitives`)."""

from headrace.wire.batch import Bytes, CorruptBatch
from headrace.wire.primitives import BYTE, uvarint

_BYTES_MAX = 10


def zigzag(value: int) -> bytes:
    """-1 is 1, 1 is 2, -2 is 3: small numbers of either sign take one byte."""
    value = value << 1 if value >= 0 else (-value << 1) - 1
    return BYTE[value] if value < 128 else uvarint(value)


def read_varint(buf: Bytes, pos: int) -> tuple[int, int]:
    """The value at `pos` and the position after it."""
    try:
        byte = buf[pos]
        if byte < 128:
            return (byte >> 1) ^ -(byte & 1), pos + 1
        # Nearly all others: lengths and counts up to 8,191.
        second = buf[pos + 1]
        if second < 128:
            value = byte & 127 | second << 7
            return (value >> 1) ^ -(value & 1), pos + 2
        value = byte & 127 | (second & 127) << 7
        pos += 1
        for shift in range(14, 7 * _BYTES_MAX, 7):
            pos += 1
            byte = buf[pos]
            value |= (byte & 127) << shift
            if byte < 128:
                return (value >> 1) ^ -(value & 1), pos + 1
    except IndexError:
        raise CorruptBatch("the records end inside a number") from None
    raise CorruptBatch(f"a number is longer than {_BYTES_MAX} bytes")
