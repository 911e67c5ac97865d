"""The places of the messages of one POST, in their order, as few bytes: a slot remembers millions of them for minutes.

Three columns, compressed: the partition of each, how far it lies from the one before it in that partition, and how much
later it is than the one before it. The last two are nearly all zeros. Runs of messages side by side would be no shorter:
messages with keys go to another partition one by one.
"""

import zlib
from collections.abc import Sequence
from struct import pack, unpack

from headrace.client.produce.outgoing import Delivered

# Little more for much more time beyond it.
_LEVEL = 1


def pack_places(places: Sequence[Delivered]) -> bytes:
    next_offsets: dict[int, int] = {}
    steps, delays, before = [], [], 0
    for partition, offset, timestamp in places:
        steps.append(offset - next_offsets.get(partition, 0))
        delays.append(timestamp - before)
        next_offsets[partition], before = offset + 1, timestamp
    partitions = [place.partition for place in places]
    return zlib.compress(pack(f"<{3 * len(places)}q", *partitions, *steps, *delays), _LEVEL)


def unpack_places(packed: bytes) -> list[Delivered]:
    data = zlib.decompress(packed)
    values = unpack(f"<{len(data) // 8}q", data)
    count = len(values) // 3
    places, next_offsets, timestamp = [], dict[int, int](), 0
    for partition, step, delay in zip(values[:count], values[count : 2 * count], values[2 * count :], strict=True):
        offset, timestamp = next_offsets.get(partition, 0) + step, timestamp + delay
        next_offsets[partition] = offset + 1
        places.append(Delivered(partition, offset, timestamp))
    return places
