"""One end of a simulated connection: an asyncio transport whose bytes take time to get to the other end.

    write ─▶ [unsent] ──window──▶ [on the way] ──latency, cuts──▶ peer's [arrived] ──unless paused──▶ its protocol

The window bounds what is on the way or arrived and unread; beyond it bytes stay unsent, are counted as the write buffer,
and hold the writer back as asyncio does. The end of a stream and a reset travel behind the bytes before them.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from sim.loop import HostLoop
    from sim.network import Network

WINDOW: Final = 256 << 10
HIGH_WATER: Final = 64 << 10
SPLIT_CHANCE: Final = 0.05


class Signal:
    """What travels in a stream and is no byte of it."""


FIN: Final = Signal()
RST: Final = Signal()

Address = tuple[str, int]


class End(asyncio.Transport):
    peer: "End"

    def __init__(self, network: "Network", loop: "HostLoop", own: Address, other: Address) -> None:
        super().__init__({"sockname": own, "peername": other})
        self.loop = loop
        self.link = (own[0], other[0])
        self.on_write: Callable[[bytes], None] | None = None
        self._network = network
        self._protocol: Any = None
        self._unsent: deque[bytes] = deque()
        self._unsent_bytes = 0
        self._unread_bytes = 0
        self._way: deque[tuple[float, bytes | Signal]] = deque()
        self._is_travelling = False
        self._last_arrival = 0.0
        self._arrived: deque[bytes | Signal] = deque()
        self._is_paused = False
        self._writer_waits = False
        self._is_closing = False
        self._is_lost = False

    def join(self, peer: "End") -> None:
        self.peer, peer.peer = peer, self

    def begin(self, factory: Callable[[], Any]) -> None:
        self._protocol = protocol = factory()
        protocol.connection_made(self)
        self._deliver()

    # -- asyncio's side --------------------------------------------------------------------------------------------

    def get_protocol(self) -> Any:
        return self._protocol

    def set_protocol(self, protocol: Any) -> None:
        self._protocol = protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def is_reading(self) -> bool:
        return not self._is_paused and not self._is_closing

    def pause_reading(self) -> None:
        self._is_paused = True

    def resume_reading(self) -> None:
        self._is_paused = False
        self.loop.call_soon(self._deliver)

    def get_write_buffer_size(self) -> int:
        return self._unsent_bytes

    def write(self, data: Any) -> None:
        if self._is_closing or not data:
            return
        chunk = bytes(data)
        if self.on_write is not None:
            self.on_write(chunk)
        self._unsent.append(chunk)
        self._unsent_bytes += len(chunk)
        self._send()
        if self._unsent_bytes > HIGH_WATER and not self._writer_waits:
            self._writer_waits = True
            self._protocol.pause_writing()

    def writelines(self, parts: Any) -> None:
        self.write(b"".join(parts))

    def can_write_eof(self) -> bool:
        return False

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            self._send()

    def abort(self) -> None:
        if not self._is_lost:
            self._is_closing = True
            self._unsent.clear()
            self._unsent_bytes = 0
            self._put(RST)
            self._end(None)

    # -- out -------------------------------------------------------------------------------------------------------

    def _send(self) -> None:
        while self._unsent and self._unread_bytes < WINDOW:
            chunk = self._unsent.popleft()
            self._unsent_bytes -= len(chunk)
            self._unread_bytes += len(chunk)
            rng = self._network.rng
            if len(chunk) > 1 and rng.random() < SPLIT_CHANCE:
                cut = rng.randrange(1, len(chunk))
                self._put(chunk[:cut])
                chunk = chunk[cut:]
            self._put(chunk)
        if self._is_closing and not self._unsent and not self._is_lost:
            self._put(FIN)
            self._end(None)
        if self._writer_waits and self._unsent_bytes == 0 and not self._is_closing:
            self._writer_waits = False
            self.loop.call_soon(self._protocol.resume_writing)

    def _put(self, chunk: bytes | Signal) -> None:
        arrival = max(self._last_arrival, self._network.agenda.now + self._network.latency(*self.link))
        self._last_arrival = arrival
        self._way.append((arrival, chunk))
        self.travel()

    def travel(self) -> None:
        """See that the first of what is on the way arrives, unless the link is cut: then mending it calls this again."""
        if self._is_travelling or not self._way or self._network.is_cut(*self.link):
            return
        self._is_travelling = True
        loop = self.peer.loop
        loop.call_later(self._way[0][0] - self._network.agenda.now, self._arrive)

    def _arrive(self) -> None:
        """Runs on the peer's loop: a paused host finds it all when it goes on."""
        self._is_travelling = False
        if self._network.is_cut(*self.link):
            return
        now = self._network.agenda.now
        while self._way and self._way[0][0] <= now:
            self.peer._arrived.append(self._way.popleft()[1])
        if self._is_lost and not self._way:
            self._network.forget(self)
        self.peer._deliver()
        self.travel()

    def _on_read(self, count: int) -> None:
        self._unread_bytes -= count
        if not self._is_lost:
            self._send()

    def vanish(self, silent: bool) -> None:
        """Its host's process is gone: what was sent still arrives, unless the machine is gone too."""
        self._is_closing = self._is_lost = True
        self._unsent.clear()
        if silent:
            self._way.clear()

    def send_reset(self) -> None:
        self._put(RST)

    # -- in --------------------------------------------------------------------------------------------------------

    def _deliver(self) -> None:
        while self._arrived and self._protocol is not None and not self._is_paused and not self._is_closing:
            chunk = self._arrived.popleft()
            if chunk is FIN:
                if not self._protocol.eof_received():
                    self.close()
            elif chunk is RST:
                self.lose(ConnectionResetError(104, "reset by the other side"))
            elif isinstance(chunk, bytes):
                self._network.on_arrival(self, chunk)
                self._feed(chunk)
        if self._is_closing and not self._is_lost and RST in self._arrived:
            self.lose(ConnectionResetError(104, "reset by the other side"))

    def _feed(self, chunk: bytes) -> None:
        if not isinstance(self._protocol, asyncio.BufferedProtocol):
            self._protocol.data_received(chunk)
            self.peer._on_read(len(chunk))
            return
        view = memoryview(chunk)
        while view and not self._is_paused and not self._is_closing:
            space = self._protocol.get_buffer(len(view))
            count = min(len(space), len(view))
            assert count, "get_buffer() gave no room"
            space[:count] = view[:count]
            view = view[count:]
            self.peer._on_read(count)
            self._protocol.buffer_updated(count)
        if view and not self._is_closing:
            self._arrived.appendleft(bytes(view))

    def lose(self, error: Exception | None) -> None:
        if not self._is_lost:
            self._is_closing = True
            self._end(error)

    def time_out(self) -> None:
        """Given up on this side; the other hears of it when it is heard again itself."""
        if not self._is_lost:
            self._put(RST)
            self.lose(TimeoutError("no answer from the other side"))

    def _end(self, error: Exception | None) -> None:
        self._is_lost = True
        if not self._way:
            self._network.forget(self)
        self.loop.call_soon(self._tell_lost, error)

    def _tell_lost(self, error: Exception | None) -> None:
        if self._protocol is not None:
            self._protocol.connection_lost(error)
