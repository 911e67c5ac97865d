"""Images of many changes, made in turns: a cluster of a hundred thousand partitions is a second's work, and a broker that
answers nobody for that long may lose its lease.
"""

import asyncio
from collections.abc import Iterable
from itertools import islice

from headrace.cluster.image import Image, shared
from headrace.cluster.store import Change, Snapshot

CHANGES_PER_TURN = 2_000
TOPICS_PER_TURN = 500


async def image_of(snapshot: Snapshot) -> Image:
    return await applied(Image(), snapshot.changes(), snapshot.revision)


async def sharing(image: Image, known: Image) -> Image:
    """The image of a map that was loaded anew, with everything that is as in `known` the very object of `known`: to whoever
    asks by `is`, a state that only came again would be a newly committed one."""
    topics = {}
    for count, (name, topic) in enumerate(image.topics.items(), 1):
        topics[name] = shared(topic, known.topics.get(name))
        if count % TOPICS_PER_TURN == 0:
            await asyncio.sleep(0)
    return image._replace(topics=topics, acls=known.acls if image.acls == known.acls else image.acls)


async def applied(image: Image, changes: Iterable[Change], revision: int) -> Image:
    """The image after these changes. Intermediate images have its revision already, and are never published."""
    todo = iter(changes)
    while turn := list(islice(todo, CHANGES_PER_TURN)):
        image = image.apply(turn, revision)
        if len(turn) == CHANGES_PER_TURN:
            await asyncio.sleep(0)
    return image.apply((), revision)
