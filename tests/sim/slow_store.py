"""A store that is slow to commit while everything else about it is quick: leases are renewed, and watches bring news late.

A commit lands when the store gets to it. Its caller has given up by then, if that took longer than its deadline: it hears
`StoreUnreachable`, and the commit becomes true all the same, even after the caller's death. Two commits of one caller may
land in either order. SQLite does this behind a long fsync, since leases are another file; etcd behind a slow disk.
"""

import asyncio
from collections.abc import Mapping
from random import Random

from headrace.base.errors import StoreUnreachable
from headrace.cluster.store import Conflict, check_size
from headrace.stores.memory import MemoryShelf
from sim.loop import Agenda


class SlowCommits:
    """The way of commits to the shelf: quick while `seconds_max` is 0."""

    def __init__(self, agenda: Agenda) -> None:
        self.seconds_max = 0.0
        self.news_seconds_min = 0.0
        self.news_seconds_max = 0.0
        self._agenda = agenda

    async def commit(
        self,
        shelf: MemoryShelf,
        puts: Mapping[str, bytes | None],
        expect: Mapping[str, int],
        rng: Random,
        patience: float,
    ) -> int:
        check_size(puts, expect)
        landed: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        # Half of them are as quick as ever; of the others some outlive their callers.
        seconds = self.seconds_max * rng.random() ** 2 if rng.random() < 0.5 else 0.0
        self._agenda.after(seconds, _land, shelf, dict(puts), dict(expect), landed)
        try:
            async with asyncio.timeout(patience):
                return await landed
        except TimeoutError:
            raise StoreUnreachable("the store is slow") from None

    async def until_news(self, rng: Random) -> None:
        if self.news_seconds_max:
            await asyncio.sleep(rng.uniform(self.news_seconds_min, self.news_seconds_max))


def _land(
    shelf: MemoryShelf, puts: dict[str, bytes | None], expect: dict[str, int], landed: asyncio.Future[int]
) -> None:
    try:
        revision = shelf.commit(puts, expect)
    except Conflict as conflict:
        if not landed.done():
            landed.set_exception(conflict)
    else:
        if not landed.done():
            landed.set_result(revision)
