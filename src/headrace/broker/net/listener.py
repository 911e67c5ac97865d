"""Connections: bytes become frames, frames become requests, replies leave in the order of their requests.

    socket → buffer → frame ─▶ dispatch ─▶ reply now ──────────────┐
                                  │                                ├─▶ outbox
                                  └─▶ Pending … complete(reply) ───┘

A connection owns one buffer. It grows with the bytes that really arrive, never with the length that a frame claims, and
is used again for the next frame: a handler that keeps a view of its frame must be done with it when it returns, or be a
coroutine (no later frame is decoded while one runs). Not here: what requests mean (`dispatch`), how bytes leave (`outbox`).
"""

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from functools import partial
from math import inf
from struct import Struct
from typing import Any, Protocol, cast

from headrace.base.errors import DiskFailed, PeerError
from headrace.base.probe import Probes
from headrace.base.settings import INT_MAX
from headrace.broker.net.acceptor import Acceptor, ArrivalPlaces
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection_limits import KERNELS_CHOICE, ConnectionCount, ConnectionLimits, SocketBuffers
from headrace.broker.net.outbox import Chunk, Outbox, SocketOutbox, TransportOutbox, release_ranges
from headrace.broker.net.tls_outbox import TlsOutbox
from headrace.broker.security.certificates import NoPrincipal
from headrace.broker.security.rights import ANONYMOUS, EVERY_RIGHT, Rights, every_right
from headrace.broker.security.tls import ListenerTls
from headrace.cluster.listeners import PlannedListener

logger = logging.getLogger("headrace.listener")

_LENGTH = Struct(">i")
SMALL_BUFFER = 4096
# For a client that sends many small requests without waiting: one read and one send for all that has come.
PIPELINE_BUFFER = 32768
# A client may have this many requests unanswered, or this many reply bytes unread; beyond it we stop reading from it.
OWED_REPLIES_MAX = 1000
QUEUED_REPLY_BYTES_MAX = 8 << 20
# A frame that was begun is to be whole by then.
FRAME_SECONDS_MAX = 30.0
# How much of one connection is worked off before it is somebody else's turn: so many small requests, fewer large replies.
TURN_FRAMES = 64
REPLY_BYTES_PER_FRAME = 4096
# A large buffer is kept for the next frame this long; less when others wait for room.
KEEP_BUFFER_SECONDS = 2.0
RECLAIM_SECONDS = 0.01


class Pending:
    """A reply that is owed: completed later, sent when its turn comes."""

    __slots__ = ("_connection", "_frame", "chunks", "held_bytes", "on_abandoned")

    def __init__(self, connection: "Connection", frame: Callable[[Any], list[Chunk]]) -> None:
        self.chunks: list[Chunk] | None = None
        # What its chunks weigh while they wait behind a reply that is not ready.
        self.held_bytes = 0
        self.on_abandoned: Callable[[], None] | None = None
        self._connection = connection
        self._frame = frame

    def complete(self, response: Any) -> None:
        assert self.chunks is None, "a request is answered once"
        self.on_abandoned = None
        self.chunks = self._frame(response)
        self._connection.on_reply_ready(self)

    def fail(self, error: Exception) -> None:
        """No reply can be made: as if the handler itself had raised this."""
        self.on_abandoned = None
        self._connection.on_failure(error)

    def abandon(self) -> None:
        """The connection is gone: nobody waits any more."""
        if self.chunks is not None:
            release_ranges(self.chunks)
        elif self.on_abandoned is not None:
            self.on_abandoned()


class Dispatcher(Protocol):
    def dispatch(self, connection: "Connection", frame: memoryview) -> None: ...


class Gates(Protocol):
    """Puts a gate between a connection and the listener's dispatcher, until somebody has logged in."""

    def stand_before(self, connection: "Connection") -> None: ...


class Connection(asyncio.BufferedProtocol):
    __slots__ = (
        "_buffer",
        "_end",
        "_held_bytes",
        "_is_ending",
        "_listener",
        "_outgoing",
        "_owed",
        "_reading_paused",
        "_scheduled",
        "_start",
        "_task",
        "_transport",
        "_turn_left",
        "_view",
        "_waits_for_budget",
        "_waits_for_turn",
        "budget",
        "client_software",
        "dispatcher",
        "frame_bytes_max",
        "frame_since",
        "ip",
        "last_active",
        "login_by",
        "outbox",
        "peer",
        "principal",
        "rights",
    )

    def __init__(self, listener: "Listener") -> None:
        self._listener = listener
        self._buffer = bytearray(SMALL_BUFFER)
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._owed: deque[Pending] = deque()
        self._held_bytes = 0
        self._outgoing: list[Chunk] = []
        self._scheduled = False
        self._waits_for_budget = False
        self._waits_for_turn = False
        self._turn_left = TURN_FRAMES
        self._reading_paused = False
        self._is_ending = False
        self._task: asyncio.Task[None] | None = None
        self._transport: asyncio.Transport | None = None
        self.peer = self.ip = "?"
        self.principal = ANONYMOUS
        self.rights = EVERY_RIGHT
        self.client_software = ""
        # Those of its gate, until somebody has logged in.
        self.dispatcher = listener.dispatcher
        self.budget = listener.budget
        self.frame_bytes_max = listener.frame_bytes_max
        self.login_by = inf
        self.last_active = self.frame_since = listener.loop.time()

    # -- asyncio's side ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio.Transport by type, only by what they can do.
        self._transport = transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        if peer:
            self.ip, self.peer = peer[0], f"{peer[0]}:{peer[1]}"
        self.outbox = self._listener.open_outbox(transport, self._read_frames)
        self.sign_in(ANONYMOUS)
        self._listener.on_open(self)
        self._sign_in_by_certificate()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self.outbox.close()
        if self._task is not None:
            self._task.cancel()
        owed, self._owed = self._owed, deque()
        for pending in owed:
            pending.abandon()
        release_ranges(self._outgoing)
        self._outgoing = []
        self._start = self._end = 0
        self._waits_for_budget = False
        self.budget.forget(self)
        self.shrink()
        self._listener.on_closed(self)

    def _sign_in_by_certificate(self) -> None:
        if self._transport is None:
            return
        try:
            principal = self._listener.principal_of(self._transport)
        except NoPrincipal as error:
            self.close_bad_peer(str(error))
            return
        if principal != ANONYMOUS:
            self.sign_in(principal)

    def sign_in(self, principal: str) -> None:
        """Makes the requests from here on those of this principal, with its rights."""
        self.principal = principal
        self.rights = self._listener.rights_of(principal, self.ip)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._view[self._end :]

    def buffer_updated(self, nbytes: int) -> None:
        self.last_active = self._listener.loop.time()
        if self._start == self._end:
            self.frame_since = self.last_active
        self._end += nbytes
        self._listener.probes.bytes_received += nbytes
        self._read_frames()

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self.outbox.on_full()

    def resume_writing(self) -> None:
        self.outbox.on_writable()
        self._read_frames()

    @property
    def listener_name(self) -> str:
        return self._listener.plan.name

    # -- frames in -----------------------------------------------------------------------------------------------

    def _read_frames(self) -> None:
        """Decode what has arrived, send what is ready, and read on unless something holds this connection back."""
        self._turn_left = TURN_FRAMES
        may_go_on = True
        while may_go_on and self._transport is not None:
            # First, since replies that leave may end the holding back: whole frames must not be left lying in a buffer
            # that we then go on to fill.
            self._flush()
            progressed = False
            while not (is_held := self._is_held) and self._next_frame():
                progressed = True
            may_go_on = is_held and progressed
        self._flush()
        if self._turn_left <= 0 and not self._waits_for_turn:
            self._waits_for_turn = True
            self._listener.loop.call_soon(self._on_turn)
        self.set_reading()

    def _on_turn(self) -> None:
        self._waits_for_turn = False
        self._read_frames()

    def _next_frame(self) -> bool:
        available = self._end - self._start
        if available < 4:
            self._make_room(4)
            return False
        (size,) = _LENGTH.unpack_from(self._buffer, self._start)
        if not 0 < size <= self.frame_bytes_max:
            # A gate allows less than the listener.
            setting = "socket.request.max.bytes" if self.login_by == inf else "sasl.server.max.receive.size"
            self.close_bad_peer(
                f"frame of {size} bytes; allowed are 1 to {self.frame_bytes_max} ({setting})"
                f"{_other_protocol(self._view[self._start : self._start + 4])}"
            )
            return False
        if available < 4 + size:
            self._make_room(4 + size)
            return False
        begin = self._start + 4
        self._start = begin + size
        self._turn_left -= 1
        self.frame_since = self.last_active
        self._dispatch(self._view[begin : begin + size])
        return self._transport is not None

    def _dispatch(self, frame: memoryview) -> None:
        try:
            self.dispatcher.dispatch(self, frame)
        except Exception as error:
            self.on_failure(error, self._listener.probes.last_request)

    def on_failure(self, error: Exception, request: object = None) -> None:
        """A request ended in this. Our own bug costs the connection only: one poison request must not stop broker after
        broker as its client retries elsewhere."""
        match error:
            case PeerError():
                self.close_bad_peer(str(error), request)
            case DiskFailed():
                self._listener.on_disk_failed(error)
            case _:
                self._listener.probes.handler_failures += 1
                fields = {"peer": self.peer, "request": str(request or "")}
                logger.error("request failed; closing the connection", fields, exc_info=error)
                self.close()

    def _make_room(self, frame_bytes: int) -> None:
        """Have space to receive more of a frame of this size: doubling as bytes arrive, so a claim costs nothing."""
        if self._start and self.budget.is_contended:
            # Between two frames is the moment to queue up for room like everybody else.
            self.shrink()
        held = self._end - self._start
        capacity = len(self._buffer)
        is_pipelined = self._start > 0 and self._end == capacity < PIPELINE_BUFFER
        if is_pipelined and self.budget.take_spare(PIPELINE_BUFFER - capacity):
            self._move_to(bytearray(PIPELINE_BUFFER))
            return
        if self._start + frame_bytes <= capacity and held:
            return
        fresh = self._buffer
        if frame_bytes > capacity and held * 2 > capacity:
            wanted = min(frame_bytes, max(2 * capacity, 65536))
            if not self.budget.take(wanted - capacity, self):
                self._waits_for_budget = True
                self._listener.reclaim()
                return
            fresh = bytearray(wanted)
        self._move_to(fresh)

    def _move_to(self, fresh: bytearray) -> None:
        """Moves the bytes held to the front of `fresh`, which may be the buffer that they are in."""
        held = self._end - self._start
        view = self._view if fresh is self._buffer else memoryview(fresh)
        view[:held] = self._view[self._start : self._end]
        self._buffer, self._view = fresh, view
        self._start, self._end = 0, held

    def shrink(self) -> None:
        """Give back what a large buffer has beyond the bytes in it. Before more is received, there must be room again."""
        extra = len(self._buffer) - max(SMALL_BUFFER, self._end - self._start)
        if extra > 0:
            self._move_to(bytearray(len(self._buffer) - extra))
            self.budget.give_back(extra, self)

    def shrink_if_idle(self, idle_since: float) -> None:
        if self.last_active <= idle_since and not self.is_mid_frame and not self._waits_for_budget:
            self.shrink()

    def move_to_budget(self, budget: Budget) -> None:
        """Counts its buffer in another budget from here on."""
        self.shrink()
        held = len(self._buffer) - SMALL_BUFFER
        self.budget.give_back(held, self)
        self.budget = budget
        budget.take_anyway(held)

    def on_budget(self) -> None:
        if self._waits_for_budget:
            self._waits_for_budget = False
            self._read_frames()

    # -- replies out ---------------------------------------------------------------------------------------------

    def reply(self, chunks: list[Chunk]) -> None:
        """Answer the current request at once (it still waits behind earlier ones)."""
        self._turn_left -= sum(map(len, chunks)) // REPLY_BYTES_PER_FRAME
        if self._owed:
            done = Pending(self, lambda response: [])
            done.chunks = chunks
            self._owed.append(done)
            self._hold(done)
        else:
            self._outgoing += chunks

    def owe(self, pending: Pending) -> None:
        self._owed.append(pending)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """A handler that must wait before it can change anything: no later frame is decoded until it is done."""
        self._task = self._listener.loop.create_task(self._guard(work, self._listener.probes.last_request))
        self._task.add_done_callback(self._on_task_done)

    async def _guard(self, work: Coroutine[Any, Any, None], request: object) -> None:
        try:
            await work
        except Exception as error:
            self.on_failure(error, request)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self._task = None
        self._read_frames()

    def on_reply_ready(self, pending: Pending) -> None:
        if self._owed and self._owed[0] is not pending:
            self._hold(pending)
        # One flush for all the replies that one sync round or one append made ready.
        if not self._scheduled:
            self._scheduled = True
            self._listener.loop.call_soon(self._flush_scheduled)

    def _hold(self, ready: Pending) -> None:
        """Holds a reply behind an earlier one; its bytes count as unread ones do."""
        assert ready.chunks is not None
        ready.held_bytes = sum(map(len, ready.chunks))
        self._held_bytes += ready.held_bytes

    def _flush_scheduled(self) -> None:
        self._scheduled = False
        if self._reading_paused:
            self._read_frames()
        else:
            self._flush()

    def _flush(self) -> None:
        owed = self._owed
        while owed and (ready := owed[0].chunks) is not None:
            self._held_bytes -= owed.popleft().held_bytes
            self._outgoing += ready
        if self._outgoing and self._transport is not None:
            chunks, self._outgoing = self._outgoing, []
            self.outbox.send(chunks)
        self.end_if_answered()

    # -- pressure and endings ------------------------------------------------------------------------------------

    @property
    def _is_held(self) -> bool:
        """Others' turn, a running handler, too many replies owed or unread, or no buffer budget: nothing is decoded."""
        return (
            self._turn_left <= 0
            or self._task is not None
            or len(self._owed) >= OWED_REPLIES_MAX
            or self._waits_for_budget
            or self._held_bytes + self.outbox.queued_bytes > QUEUED_REPLY_BYTES_MAX
            or self._is_ending
            or self._listener.is_draining
        )

    def set_reading(self) -> None:
        if self._transport is None or self._is_held == self._reading_paused:
            return
        self._reading_paused = not self._reading_paused
        if self._reading_paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    @property
    def is_idle(self) -> bool:
        return not self._owed and self._task is None

    @property
    def is_mid_frame(self) -> bool:
        """The rest of a frame is for the peer to send: nothing of ours holds it back."""
        return self._end > self._start and not self._reading_paused

    def close_bad_peer(self, cause: str, request: object = None) -> None:
        self._listener.probes.peer_errors += 1
        self.close_because(cause, request)

    def close_because(self, cause: str, request: object = None) -> None:
        fields = {"cause": cause, "peer": self.peer, "request": str(request or "")}
        logger.warning("closing a connection: %(cause)s", fields)
        self.close()

    def close_when_answered(self) -> None:
        """Closes once everything read is answered. Nothing more is read: bytes that the client still sends were never
        received.
        """
        self._is_ending = True
        self._read_frames()

    def end_if_answered(self) -> None:
        if self._is_ending and self.is_idle and not self.outbox.queued_bytes and self._transport is not None:
            transport = self._transport
            self._transport = None
            self.outbox.end(transport)

    def close(self) -> None:
        if self._transport is not None:
            self.outbox.close()
            self._transport.abort()
            self._transport = None


class Listener:
    """One listening address, its protocol, and the connections that came in on it."""

    gates: Gates | None = None
    """Stand where a login is asked for."""

    def __init__(
        self,
        *,
        plan: PlannedListener,
        for_brokers: bool = False,
        loop: asyncio.AbstractEventLoop,
        dispatcher: Dispatcher,
        probes: Probes,
        readers: Executor,
        frame_bytes_max: int,
        budget: Budget,
        count: ConnectionCount,
        limits: ConnectionLimits,
        socket_buffers: SocketBuffers = KERNELS_CHOICE,
        on_disk_failed: Callable[[DiskFailed], None],
        rights_of: Callable[[str, str], Rights] = every_right,
        tls: ListenerTls | None = None,
    ) -> None:
        """`rights_of` tells the rights of a principal that comes from an address. `for_brokers`: clients have another."""
        self.plan = plan
        self.for_brokers = for_brokers
        self.loop = loop
        self.dispatcher = dispatcher
        self.probes = probes
        self.frame_bytes_max = frame_bytes_max
        self.budget = budget
        # Ordered: whom a stop closes first must not depend on addresses, or no simulation could be replayed.
        self.connections: dict[Connection, None] = {}
        self.is_draining = False
        self.addresses: list[tuple[str, int]] = []
        self.on_disk_failed = on_disk_failed
        self.rights_of = rights_of
        self._readers = readers
        self._count = count
        self._limits = limits
        self._tls = tls
        self._socket_buffers = socket_buffers
        self._reclaiming = False
        self._server: asyncio.Server | Acceptor | None = None

    async def bind(self) -> int:
        """Take the address, without answering yet; the port that it became."""
        host, port = self.plan.host or None, self.plan.port
        if self._tls is None and self._limits.creation_rate_max == INT_MAX:
            self._server = await self.loop.create_server(
                lambda: Connection(self), host, port, backlog=self._socket_buffers.backlog, start_serving=False
            )
        else:
            self._server = Acceptor(
                self.loop,
                lambda: Connection(self),
                self._tls,
                self._limits.creation_rate_max,
                self.probes,
                ArrivalPlaces(
                    partial(self._count.take_descriptor, self.for_brokers), self._count.descriptors.give_back
                ),
                self._socket_buffers.backlog,
            )
            self._server.bind(host, port)
        self.addresses = [each.getsockname()[:2] for each in self._server.sockets]
        return self.addresses[0][1]

    def set_limits(self, limits: ConnectionLimits) -> None:
        """Applies to new connections only."""
        self._limits = limits

    async def serve(self) -> None:
        assert self._server is not None, "bind first"
        await self._server.start_serving()

    def stop_accepting(self) -> None:
        if self._server is not None:
            self._server.close()

    def stop_reading(self) -> None:
        """Take no more requests; replies still leave."""
        self.is_draining = True
        for connection in self.connections:
            connection.set_reading()

    def close_connections(self) -> None:
        for connection in list(self.connections):
            connection.close()

    def open_outbox(self, transport: asyncio.Transport, on_drained: Callable[[], None]) -> Outbox:
        plain = transport.get_extra_info("socket")
        if plain is not None:
            self._socket_buffers.apply(plain)
        if self._tls is not None:
            return TlsOutbox(transport, self.loop, self._readers, self.probes, on_drained, self.on_disk_failed)
        if plain is None or not hasattr(os, "sendfile"):
            return TransportOutbox(transport, self.probes)
        return SocketOutbox(
            transport, self.loop, self._readers, self.probes, self._count.descriptors, on_drained, self.on_disk_failed
        )

    def on_open(self, connection: Connection) -> None:
        self.probes.connections_accepted += 1
        cause = self._count.enter(connection.ip, self._limits, len(self.connections), self.for_brokers)
        if cause:
            self.probes.connections_refused += 1
            connection.close_because(cause)
            return
        self.connections[connection] = None
        self.probes.connections_open += 1
        if self.gates is not None:
            self.gates.stand_before(connection)

    @property
    def certificate_expires_at(self) -> float | None:
        """The end of our certificate in seconds since 1970; None without TLS."""
        return None if self._tls is None else self._tls.expires_at

    def principal_of(self, transport: asyncio.Transport) -> str:
        """The principal of a connection that nobody has logged in on: that of its certificate, if it showed one."""
        if self._tls is None or self.plan.has_sasl:
            return ANONYMOUS
        return self._tls.principal_of(transport.get_extra_info("ssl_object"))

    def on_closed(self, connection: Connection) -> None:
        if connection in self.connections:
            del self.connections[connection]
            self._count.leave(connection.ip, self.for_brokers)
            self.probes.connections_open -= 1

    def reclaim(self) -> None:
        """Takes back buffers that are not in use, soon: a connection waits for space."""
        if not self._reclaiming:
            self._reclaiming = True
            self.loop.call_later(RECLAIM_SECONDS, self._reclaim)

    def _reclaim(self) -> None:
        self._reclaiming = False
        for connection in list(self.connections):
            connection.shrink_if_idle(self.loop.time())

    def sweep(self) -> None:
        """Called every second or so: close who has been silent too long, take back buffers that are not needed."""
        now = self.loop.time()
        for connection in list(self.connections):
            # A frame that comes slowly does no harm, unless its memory is what others wait for.
            since = connection.frame_since if connection.budget.is_waited_for else connection.last_active
            if connection.is_mid_frame and now - since > FRAME_SECONDS_MAX:
                connection.close_bad_peer(f"a frame was begun and not finished in {FRAME_SECONDS_MAX:.0f} s")
            elif now > connection.login_by:
                connection.close_bad_peer("nobody logged in in time (sasl.server.login.timeout.ms)")
            elif connection.is_idle and now - connection.last_active > self._limits.idle_seconds_max:
                connection.close()
            else:
                connection.end_if_answered()
                connection.shrink_if_idle(now - KEEP_BUFFER_SECONDS)


def _other_protocol(first: memoryview) -> str:
    """A guess at the protocol of a client that came to the wrong port."""
    start = bytes(first)
    if start in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI"):
        return ": this is HTTP, and this port speaks Kafka"
    if start[:2] == b"\x16\x03":
        return ": this is TLS, and this listener is plain (security.protocol=PLAINTEXT)"
    return ""
