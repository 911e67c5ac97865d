"""Images of many changes, made in turns: a cluster of a hundred thousand partitions is a second's work, and a broker that
answers nobody for that long may lose its lease.
"""

import asyncio
from collections.abc import Iterable
from itertools import islice

from headrace.cluster.image import Image
from headrace.cluster.store import Change, Snapshot

CHANGES_PER_TURN = 2_000


async def image_of(snapshot: Snapshot) -> Image:
    return await applied(Image(), snapshot.changes(), snapshot.revision)


async def applied(image: Image, changes: Iterable[Change], revision: int) -> Image:
    """The image after these changes. Intermediate images have its revision already, and are never published."""
    todo = iter(changes)
    while turn := list(islice(todo, CHANGES_PER_TURN)):
        image = image.apply(turn, revision)
        if len(turn) == CHANGES_PER_TURN:
            await asyncio.sleep(0)
    return image.apply((), revision)
