"""Functions for generated decoders and encoders, called where a message leaves its usual shape.

The usual lengths fit in one byte and the usual tag section is empty, and generated code handles those inline; these
functions are the other cases. They raise IndexError when the buffer ends early, which `codec` turns into PeerError.
"""

from struct import Struct as Layout
from typing import Any

from headrace.base.errors import PeerError

BYTE = tuple(bytes((value,)) for value in range(128))

# Most arrays of int32 are replica lists; a layout made ahead spares the look-up of a format by name.
SHORT = 9
PACK_INT32S = tuple(Layout(f">{count}i").pack for count in range(SHORT))
UNPACK_INT32S = tuple(Layout(f">{count}i").unpack_from for count in range(SHORT))


def uvarint(value: int) -> bytes:
    if value < 128:
        return BYTE[value]
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def rest_of_uvarint(buf: Any, pos: int, first: int) -> tuple[int, int]:
    """The value and the position after it, once its first byte has shown that more follow."""
    # Written out, since every batch of more than 126 bytes passes here.
    byte = buf[pos]
    if byte < 128:
        return first & 127 | byte << 7, pos + 1
    value = first & 127 | (byte & 127) << 7
    byte = buf[pos + 1]
    if byte < 128:
        return value | byte << 14, pos + 2
    value |= (byte & 127) << 14
    byte = buf[pos + 2]
    if byte < 128:
        return value | byte << 21, pos + 3
    value |= (byte & 127) << 21
    byte = buf[pos + 3]
    if byte < 128:
        return value | byte << 28, pos + 4
    raise PeerError("a variable-length integer is longer than 5 bytes")


def read_uvarint(buf: Any, pos: int) -> tuple[int, int]:
    first = buf[pos]
    return (first, pos + 1) if first < 128 else rest_of_uvarint(buf, pos + 1, first)


def tag_and_size(buf: Any, pos: int) -> tuple[int, int, int]:
    tag, pos = read_uvarint(buf, pos)
    size, pos = read_uvarint(buf, pos)
    return tag, size, pos


def skip_tags(buf: Any, pos: int, count: int) -> int:
    """The position after a tag section; `count` is its first byte."""
    if count > 127:
        count, pos = rest_of_uvarint(buf, pos, count)
    for _ in range(count):
        _, size, pos = tag_and_size(buf, pos)
        pos += size
    return pos
