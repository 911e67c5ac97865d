"""The position of a listener: the next offset of every partition it reads, and how that is written as the id of an event.

    0:17,1:4,2:0

An id says everything that is needed to go on after its event, so a listener that comes back needs no memory of ours. It
comes back in the head of a request, which has a bound: so has the number of partitions that one listener reads.
"""

from collections.abc import Mapping

Positions = Mapping[int, int]

PARTITIONS_MAX = 2000
# A partition of four digits, an offset of nineteen, and what is between them.
ID_CHARACTERS_MAX = PARTITIONS_MAX * 25
_LARGEST = 2**63 - 1


def format_positions(positions: Positions) -> str:
    return ",".join([f"{partition}:{offset}" for partition, offset in positions.items()])


def parse_positions(text: str) -> dict[int, int]:
    """ValueError for anything that `format_positions` did not write."""
    if len(text) > ID_CHARACTERS_MAX:
        raise ValueError("an id that is too long")
    found = {}
    for pair in text.split(","):
        partition, _, offset = pair.partition(":")
        if not (partition.isascii() and partition.isdigit() and offset.isascii() and offset.isdigit()):
            raise ValueError(f"{text[:60]!r} is not the id of an event")
        if len(partition) > 10 or int(offset) > _LARGEST or int(partition) in found:
            raise ValueError(f"{text[:60]!r} is not the id of an event")
        found[int(partition)] = int(offset)
    return found
