"""Connections: bytes become frames, frames become requests, replies leave in the order of their requests.

    socket → buffer → frame ─▶ dispatch ─▶ requests, and their replies in order ─▶ outbox → socket

A handler that keeps a view of its frame must be done with it when it returns, or be a coroutine: no later frame is decoded
while one runs, and the buffer is used again for the next (`frame_buffer`). Not here: what requests mean (`dispatch`), the
order of replies (`requests_in_order`), how bytes leave (`outbox`), who may come and stay (`listener`).
"""

import asyncio
import logging
from collections.abc import Callable
from math import inf
from typing import Final, Protocol, cast

from headrace.base.errors import DiskFailed, PeerError
from headrace.base.probe import Probes
from headrace.broker.net.budget import Budget
from headrace.broker.net.frame_buffer import FrameBuffer
from headrace.broker.net.outbox import Outbox
from headrace.broker.net.requests_in_order import TURN_FRAMES, RequestsInOrder
from headrace.broker.security.rights import ANONYMOUS, EVERY_RIGHT, Rights
from headrace.cluster.listeners import PlannedListener

logger = logging.getLogger("headrace.listener")

# A client may have this many requests unanswered, or this many reply bytes unread; beyond it we stop reading from it.
OWED_REPLIES_MAX: Final = 1000
QUEUED_REPLY_BYTES_MAX: Final = 8 << 20


class Dispatcher(Protocol):
    def dispatch(self, connection: "Connection", frame: memoryview) -> None: ...


class House(Protocol):
    """The listener that a connection came in on."""

    loop: asyncio.AbstractEventLoop
    probes: Probes
    plan: PlannedListener
    dispatcher: Dispatcher
    budget: Budget
    frame_bytes_max: int
    is_draining: bool
    rights_of: Callable[[str, str], Rights]
    on_disk_failed: Callable[[DiskFailed], None]

    def open_outbox(self, transport: asyncio.Transport, on_drained: Callable[[], None]) -> Outbox: ...

    def on_open(self, connection: "Connection") -> None: ...

    def on_closed(self, connection: "Connection") -> None: ...

    def reclaim(self) -> None: ...


class Connection(asyncio.BufferedProtocol):
    __slots__ = (
        "_listener",
        "_probes",
        "_time",
        "_waits_for_turn",
        "client_software",
        "credential",
        "dispatcher",
        "frames",
        "ip",
        "is_ending",
        "is_paused",
        "login_by",
        "outbox",
        "peer",
        "principal",
        "requests",
        "rights",
        "transport",
    )

    outbox: Outbox

    def __init__(self, listener: House) -> None:
        self._listener = listener
        self._probes = listener.probes
        self._time = listener.loop.time
        self._waits_for_turn = False
        self.frames = FrameBuffer(self, listener.budget, listener.frame_bytes_max, listener.reclaim, self._time())
        self.requests = RequestsInOrder(self, listener.loop)
        self.transport: asyncio.Transport | None = None
        self.is_paused = False
        self.is_ending = False
        self.peer = self.ip = "?"
        self.principal = self.credential = ANONYMOUS
        self.rights = EVERY_RIGHT
        self.client_software = ""
        # That of its gate, until somebody has logged in.
        self.dispatcher = listener.dispatcher
        self.login_by = inf

    # -- asyncio's side ------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio.Transport by type, only by what they can do.
        self.transport = transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername")
        if peer:
            self.ip, self.peer = peer[0], f"{peer[0]}:{peer[1]}"
        self.outbox = self._listener.open_outbox(transport, self.read_frames)
        self.sign_in(ANONYMOUS)
        self._listener.on_open(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None
        self.outbox.close()
        self.requests.abandon()
        self.frames.close()
        self._listener.on_closed(self)

    def sign_in(self, principal: str) -> None:
        """Makes the requests from here on those of this principal, with its rights."""
        self.principal = self.credential = principal
        self.rights = self._listener.rights_of(principal, self.ip)

    def get_buffer(self, sizehint: int) -> memoryview:
        frames = self.frames
        return frames.view[frames.end :]

    def buffer_updated(self, nbytes: int) -> None:
        frames = self.frames
        frames.last_received = self._time()
        if frames.start == frames.end:
            frames.frame_since = frames.last_received
        frames.end += nbytes
        self._probes.bytes_received += nbytes
        self.read_frames()

    def pause_writing(self) -> None:
        self.outbox.on_full()

    def resume_writing(self) -> None:
        self.outbox.on_writable()
        self.read_frames()

    @property
    def listener_name(self) -> str:
        return self._listener.plan.name

    @property
    def last_request(self) -> object:
        """The request that was decoded last, on any connection: for messages about one that failed."""
        return self._probes.last_request

    # -- frames in -----------------------------------------------------------------------------------------------

    def read_frames(self) -> None:
        """Decode what has arrived, send what is ready, and read on unless something holds this connection back."""
        frames, requests = self.frames, self.requests
        requests.turn_left = TURN_FRAMES
        may_go_on = True
        while may_go_on and self.transport is not None:
            # First, since replies that leave may end the holding back: whole frames must not be left lying in a buffer
            # that we then go on to fill.
            if requests.owed:
                requests.flush()
            progressed = False
            while not (is_held := self._is_held) and (frame := frames.next()) is not None:
                progressed = True
                requests.turn_left -= 1
                try:
                    self.dispatcher.dispatch(self, frame)
                except Exception as error:
                    self.on_failure(error, self.last_request)
                if self.transport is None:
                    break
            may_go_on = is_held and progressed
        requests.flush()
        if requests.turn_left <= 0 and not self._waits_for_turn:
            self._waits_for_turn = True
            self._listener.loop.call_soon(self._on_turn)
        self.set_reading()

    def _on_turn(self) -> None:
        self._waits_for_turn = False
        self.read_frames()

    @property
    def _is_held(self) -> bool:
        """Others' turn, a running handler, too many replies owed or unread, or no buffer budget: nothing is decoded."""
        requests = self.requests
        return (
            requests.turn_left <= 0
            or requests.task is not None
            or len(requests.owed) >= OWED_REPLIES_MAX
            or self.frames.waits_for_budget
            or requests.held_bytes + self.outbox.queued_bytes > QUEUED_REPLY_BYTES_MAX
            or self.is_ending
            or self._listener.is_draining
        )

    def set_reading(self) -> None:
        if self.transport is None or self._is_held == self.is_paused:
            return
        self.is_paused = not self.is_paused
        if self.is_paused:
            self.transport.pause_reading()
        else:
            self.transport.resume_reading()

    # -- endings -------------------------------------------------------------------------------------------------

    def on_failure(self, error: Exception, request: object = None) -> None:
        """A request ended in this. Our own bug costs the connection only: one poison request must not stop broker after
        broker as its client retries elsewhere."""
        match error:
            case PeerError():
                self.close_bad_peer(str(error), request)
            case DiskFailed():
                self._listener.on_disk_failed(error)
            case _:
                self._probes.handler_failures += 1
                fields = {"peer": self.peer, "request": str(request or "")}
                logger.error("request failed; closing the connection", fields, exc_info=error)
                self.close()

    def close_bad_peer(self, cause: str, request: object = None) -> None:
        self._probes.peer_errors += 1
        self.close_because(cause, request)

    def close_because(self, cause: str, request: object = None) -> None:
        fields = {"cause": cause, "peer": self.peer, "request": str(request or "")}
        logger.warning("closing a connection: %(cause)s", fields)
        self.close()

    def close_when_answered(self) -> None:
        """Closes once everything read is answered. Nothing more is read: bytes that the client still sends were never
        received.
        """
        self.is_ending = True
        self.read_frames()

    def end_if_answered(self) -> None:
        transport = self.transport
        if self.is_ending and self.requests.are_answered and not self.outbox.queued_bytes and transport is not None:
            self.transport = None
            self.outbox.end(transport)

    def close(self) -> None:
        if self.transport is not None:
            self.outbox.close()
            self.transport.abort()
            self.transport = None
