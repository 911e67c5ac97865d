"""The choice of a log's snapshots to keep: many near its newest one, and fewer the further back.

    kept, as distances from the newest      0   1   2   4   8   16   32 …

A cut restores the newest snapshot below it and replays the rest, so that it costs about as much as the bytes it takes
away, however long the log is; and the number of snapshots grows with the logarithm of its length.
"""

from collections.abc import Sequence

# The newest may turn out to be torn, so the one before it stays whatever its distance is.
_NEAREST = 2


def surplus(offsets: Sequence[int]) -> list[int]:
    """The members of rising `offsets` that need not be kept."""
    kept = list(reversed(offsets[-_NEAREST:]))
    older = list(reversed(offsets[:-_NEAREST]))
    at = 0
    while at < len(older):
        reach = 2 * (kept[0] - kept[-1])
        # The furthest within twice the distance; where none is, the next, however far.
        while at + 1 < len(older) and kept[0] - older[at + 1] <= reach:
            at += 1
        kept.append(older[at])
        at += 1
    return [offset for offset in offsets if offset not in kept]
