"""The listeners of a gateway, and their places: so many there may be, of all hubs of a process together.

A hub looks after its listeners: idle ones get a sign of life now and then, one that takes nothing for too long is let go.
What they hear comes from its `feeds`, which are asked now and then for partitions that were added.
"""

import asyncio
import logging
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from headrace.base.errors import Refused
from headrace.client.connection import Disconnected
from headrace.gateway.gateway import Gateway
from headrace.gateway.intake import too_busy
from headrace.gateway.push.feeds import Feeds
from headrace.gateway.push.kept_blocks import KeptBlocks
from headrace.gateway.push.reading import Readings
from headrace.gateway.settings import GatewaySettings

logger = logging.getLogger("headrace.gateway.push")

SWEEP_SECONDS = 1.0
HUB_LOOK_SECONDS = 60.0
BEHIND_READS_MAX = 8
# For whatever is no listener: requests, brokers, files.
DESCRIPTORS_KEPT = 200


class Kept(Protocol):
    """A listener as the hub sees it."""

    def sweep(self, now: float) -> None: ...

    def end(self, reason: str) -> None: ...


class GroupListener(Kept, Protocol):
    """A listener that belongs to a group from its start until it is closed."""

    def start(self) -> None: ...

    async def close(self) -> None: ...


class Sent:
    """Events that were handed to connections, by the kind of these."""

    def __init__(self) -> None:
        self.sse = 0
        self.websocket = 0


class Places:
    """The listeners of all hubs of a process, and what is kept for them: they have one bound."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.sent = Sent()
        self.listeners = self.in_groups = 0
        self.kept = KeptBlocks(settings.push_buffer_bytes_max)
        self.descriptors_max = _all_descriptors()


class Hub:
    def __init__(self, gateway: Gateway, places: Places | None = None) -> None:
        self.gateway = gateway
        self.places = places or Places(gateway.settings)
        self.sent = self.places.sent
        self.behind_reads = asyncio.Semaphore(BEHIND_READS_MAX)
        self.readings = Readings()
        self.feeds = Feeds(gateway, self.places.kept)
        self._listeners: dict[Kept, None] = {}
        self._members: set[GroupListener] = set()
        self._leaving: set[asyncio.Task[None]] = set()
        self._rounds: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        self._rounds = [asyncio.create_task(self._run_sweeps()), asyncio.create_task(self._run_looks())]

    async def stop(self) -> None:
        for each in self._rounds:
            each.cancel()
        self.end_all("the gateway stops")
        await asyncio.gather(*self._leaving)
        await self.feeds.stop()

    def end_all(self, reason: str) -> None:
        """Streams have no end of their own: a server that stops has to end them first."""
        for listener in list(self._listeners):
            listener.end(reason)

    # -- listeners ---------------------------------------------------------------------------------------------------

    @property
    def listeners(self) -> int:
        return self.places.listeners

    @property
    def in_groups(self) -> int:
        """The number of listeners that are members of groups."""
        return self.places.in_groups

    @property
    def kept_bytes(self) -> int:
        return self.places.kept.bytes

    @contextmanager
    def keeping(self, listener: Kept) -> Iterator[None]:
        """Counts a listener while it listens. Raises if there are too many."""
        self._take_place(listener)
        try:
            yield
        finally:
            self._give_place_back(listener)

    @contextmanager
    def keeping_member(self, member: GroupListener) -> Iterator[None]:
        """The same, for one that joins a group here. Its place is free again when it has left."""
        if self.places.in_groups >= self.gateway.settings.push_groups_max:
            raise too_busy(f"there are {self.places.in_groups} listeners in groups already (push_groups_max)")
        self._take_place(member)
        self._members.add(member)
        self.places.in_groups += 1
        try:
            member.start()
            yield
        finally:
            # Not a task of the connection's: whatever happens to that one, the group is left.
            leaving = asyncio.create_task(self._leave(member))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    def _take_place(self, listener: Kept) -> None:
        listeners_max = min(self.gateway.settings.push_listeners_max, self.places.descriptors_max - DESCRIPTORS_KEPT)
        if self.places.listeners >= listeners_max:
            reason = "push_listeners_max, or the limit of open files (ulimit -n)"
            raise too_busy(f"there are {self.places.listeners} listeners already ({reason})")
        self._listeners[listener] = None
        self.places.listeners += 1

    def _give_place_back(self, listener: Kept) -> None:
        del self._listeners[listener]
        self.places.listeners -= 1

    async def _leave(self, member: GroupListener) -> None:
        try:
            await member.close()
        finally:
            self._members.discard(member)
            self.places.in_groups -= 1
            self._give_place_back(member)

    async def _run_sweeps(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            now = time.monotonic()
            for listener in list(self._listeners):
                listener.sweep(now)
            self.feeds.sweep(now)
            self.readings.clear()

    async def _run_looks(self) -> None:
        while True:
            await asyncio.sleep(HUB_LOOK_SECONDS)
            try:
                await self.feeds.look_for_partitions()
            except (Refused, Disconnected) as error:
                logger.info("looking for new partitions: %(cause)s", {"cause": error})


def _all_descriptors() -> int:
    """How many files we may have open: as many as the system lets us ask for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        return 1 << 30
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
