"""An in-memory network: links with latency, cuts and slowness between hosts, and the servers that listen on them.

A link is a pair of addresses in one direction. Cut it, and what was sent waits in order; mend it, and it arrives: a
stream stalls or is reset, it never has a hole. Some connections over a cut are reset while it lasts, as when a peer's
retransmissions time out. A host that was killed resets its connections at once; one that lost power says nothing for a
while. How bytes get from one end to the other is `transport`'s part.
"""

import asyncio
from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING, Any

from sim.loop import Agenda
from sim.transport import End

if TYPE_CHECKING:
    from sim.loop import HostLoop

RESET_CHANCE = 0.3
SYN_SECONDS = (0.2, 1.0)

Link = tuple[str, str]


class Network:
    def __init__(self, agenda: Agenda, rng: Random) -> None:
        self.agenda = agenda
        self.rng = rng
        self.on_arrival: Callable[[End, bytes], None] = lambda end, chunk: None
        self._cuts: dict[Link, None] = {}
        self._slow: dict[Link, float] = {}
        # When the last bytes arrive that were sent over a link while it was slow: mending it does not hurry them.
        self._slow_until: dict[Link, float] = {}
        self._dark: dict[str, None] = {}
        self._servers: dict[tuple[str, int], Server] = {}
        self._ends: dict[End, None] = {}
        self._next_port = 40_000

    # -- weather ---------------------------------------------------------------------------------------------------

    def latency(self, source: str, target: str) -> float:
        if source == target:
            return 0.00005
        random = self.rng.random
        seconds = 0.0002 + 0.0006 * random()
        if random() < 0.02:
            seconds += 0.05 * random()
        factor = self._slow.get((source, target))
        if factor is None:
            return seconds
        arrival = self.agenda.now + seconds * factor
        self._slow_until[source, target] = max(arrival, self._slow_until.get((source, target), 0.0))
        return seconds * factor

    def is_cut(self, source: str, target: str) -> bool:
        return (source, target) in self._cuts

    def is_fine(self, one: str, other: str) -> bool:
        """Both ways, at the usual speed, also for what is still on its way."""
        now = self.agenda.now
        return not any(
            link in self._cuts or link in self._slow or now < self._slow_until.get(link, 0.0)
            for link in ((one, other), (other, one))
        )

    def cut(self, source: str, target: str) -> None:
        """One way. A connection over it stalls until the link is mended, or is reset meanwhile."""
        self._cuts[source, target] = None
        for end in list(self._ends):
            if end.link in ((source, target), (target, source)) and self.rng.random() < RESET_CHANCE / 2:
                self.agenda.after(self.rng.uniform(0.1, 4.0), self._time_out, end)

    def _time_out(self, end: End) -> None:
        source, target = end.link
        if end in self._ends and (self.is_cut(source, target) or self.is_cut(target, source)):
            end.loop.call_soon(end.time_out)

    def slow_down(self, source: str, target: str, factor: float) -> None:
        self._slow[source, target] = factor

    def mend(self, source: str, target: str) -> None:
        self._slow.pop((source, target), None)
        if self._cuts.pop((source, target), self) is None:
            for end in list(self._ends):
                if end.link == (source, target):
                    end.travel()

    def mend_all(self) -> None:
        for source, target in [*self._cuts, *self._slow]:
            self.mend(source, target)

    # -- hosts -----------------------------------------------------------------------------------------------------

    def drop(self, loop: "HostLoop", dark: bool = False) -> None:
        """A host's process is gone: its kernel resets what was open, unless it is gone too (dark)."""
        for place in [place for place, server in self._servers.items() if server.loop is loop]:
            del self._servers[place]
        if dark:
            self._dark[loop.address] = None
        for end in [end for end in self._ends if end.loop is loop]:
            end.vanish(silent=dark)
            self.agenda.after(self.rng.uniform(0.3, 5.0) if dark else 0.0, end.send_reset)

    def light(self, address: str) -> None:
        self._dark.pop(address, None)

    def bind(self, loop: "HostLoop", factory: Callable[[], Any], host: str, port: int) -> "Server":
        if (host, port) in self._servers:
            raise OSError(98, f"{host}:{port} is in use")
        server = self._servers[host, port] = Server(self, loop, factory, host, port)
        return server

    def unbind(self, server: "Server") -> None:
        if self._servers.get(server.place) is server:
            del self._servers[server.place]

    def forget(self, end: End) -> None:
        self._ends.pop(end, None)

    async def connect(self, loop: "HostLoop", factory: Callable[[], Any], host: str, port: int) -> tuple[End, Any]:
        await self._until_answered(loop.address, host)
        server = self._servers.get((host, port))
        if server is None or not server.is_serving():
            raise ConnectionRefusedError(111, f"nobody listens on {host}:{port}")
        self._next_port += 1
        near = End(self, loop, (loop.address, self._next_port), (host, port))
        far = End(self, server.loop, (host, port), (loop.address, self._next_port))
        near.join(far)
        for end in (near, far):
            self._ends[end] = None
        server.loop.call_soon(far.begin, server.factory)
        near.begin(factory)
        return near, near.get_protocol()

    async def _until_answered(self, source: str, target: str) -> None:
        while True:
            await asyncio.sleep(self.latency(source, target) + self.latency(target, source))
            if not (self.is_cut(source, target) or self.is_cut(target, source) or target in self._dark):
                return
            await asyncio.sleep(self.rng.uniform(*SYN_SECONDS))


class Server:
    """What `loop.create_server` gives: bound at once, answering from `start_serving` on."""

    def __init__(self, network: Network, loop: "HostLoop", factory: Callable[[], Any], host: str, port: int) -> None:
        self.loop = loop
        self.factory = factory
        self.place = (host, port)
        self.sockets = (self,)
        self._network = network
        self._is_serving = False

    def getsockname(self) -> tuple[str, int]:
        return self.place

    async def start_serving(self) -> None:
        self._is_serving = True

    def is_serving(self) -> bool:
        return self._is_serving

    def close(self) -> None:
        self._is_serving = False
        self._network.unbind(self)

    async def wait_closed(self) -> None:
        return
