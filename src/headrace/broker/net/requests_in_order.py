"""The requests of a connection that are not answered yet, and their replies, which leave in the order of the requests.

dispatch ─▶ reply now ──────────────┐
     │                              ├─▶ outbox
     └─▶ Pending … complete(reply) ─┘
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from headrace.broker.net.outbox import Chunk, Outbox, release_ranges

# How much of one connection is worked off before it is somebody else's turn: so many small requests, fewer large replies.
TURN_FRAMES: Final = 64
REPLY_BYTES_PER_FRAME: Final = 4096


class Pending:
    """A reply that is owed: completed later, sent when its turn comes."""

    __slots__ = ("_frame", "_requests", "chunks", "held_bytes", "on_abandoned")

    def __init__(self, requests: "RequestsInOrder", frame: Callable[[Any], list[Chunk]]) -> None:
        self.chunks: list[Chunk] | None = None
        # What its chunks weigh while they wait behind a reply that is not ready.
        self.held_bytes = 0
        self.on_abandoned: Callable[[], None] | None = None
        self._requests = requests
        self._frame = frame

    def complete(self, response: Any) -> None:
        assert self.chunks is None, "a request is answered once"
        self.on_abandoned = None
        self.chunks = self._frame(response)
        self._requests.on_ready(self)

    def fail(self, error: Exception) -> None:
        """No reply can be made: as if the handler itself had raised this."""
        self.on_abandoned = None
        self._requests.on_failure(error)

    def abandon(self) -> None:
        """The connection is gone: nobody waits any more."""
        if self.chunks is not None:
            release_ranges(self.chunks)
        elif self.on_abandoned is not None:
            self.on_abandoned()


class Asker(Protocol):
    """The connection that the requests came on."""

    transport: asyncio.Transport | None
    outbox: Outbox
    is_paused: bool
    is_ending: bool

    @property
    def last_request(self) -> object: ...

    def read_frames(self) -> None: ...

    def end_if_answered(self) -> None: ...

    def on_failure(self, error: Exception, request: object = None) -> None: ...


class RequestsInOrder:
    __slots__ = ("_connection", "_loop", "_outgoing", "_scheduled", "held_bytes", "owed", "task", "turn_left")

    def __init__(self, connection: Asker, loop: asyncio.AbstractEventLoop) -> None:
        self.owed: deque[Pending] = deque()
        # What waits behind a reply that is not ready.
        self.held_bytes = 0
        self.task: asyncio.Task[None] | None = None
        self.turn_left = TURN_FRAMES
        self._connection = connection
        self._loop = loop
        self._outgoing: list[Chunk] = []
        self._scheduled = False

    @property
    def are_answered(self) -> bool:
        return not self.owed and self.task is None

    def reply(self, chunks: list[Chunk]) -> None:
        """Answer the current request at once (it still waits behind earlier ones)."""
        self.turn_left -= sum(map(len, chunks)) // REPLY_BYTES_PER_FRAME
        if self.owed:
            done = Pending(self, lambda response: [])
            done.chunks = chunks
            self.owed.append(done)
            self._hold(done)
        else:
            self._outgoing += chunks

    def owe(self, pending: Pending) -> None:
        self.owed.append(pending)

    def run(self, work: Coroutine[Any, Any, None]) -> None:
        """A handler that must wait before it can change anything: no later frame is decoded until it is done."""
        self.task = self._loop.create_task(self._guard(work, self._connection.last_request))
        self.task.add_done_callback(self._on_task_done)

    async def _guard(self, work: Coroutine[Any, Any, None], request: object) -> None:
        try:
            await work
        except Exception as error:
            self._connection.on_failure(error, request)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        self.task = None
        self._connection.read_frames()

    def on_ready(self, pending: Pending) -> None:
        if self.owed and self.owed[0] is not pending:
            self._hold(pending)
        # One flush for all the replies that one sync round or one append made ready.
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._flush_scheduled)

    def on_failure(self, error: Exception) -> None:
        self._connection.on_failure(error)

    def _hold(self, ready: Pending) -> None:
        """Holds a reply behind an earlier one; its bytes count as unread ones do."""
        assert ready.chunks is not None
        ready.held_bytes = sum(map(len, ready.chunks))
        self.held_bytes += ready.held_bytes

    def _flush_scheduled(self) -> None:
        self._scheduled = False
        if self._connection.is_paused:
            self._connection.read_frames()
        else:
            self.flush()

    def flush(self) -> None:
        owed = self.owed
        while owed and (ready := owed[0].chunks) is not None:
            self.held_bytes -= owed.popleft().held_bytes
            self._outgoing += ready
        connection = self._connection
        if self._outgoing and connection.transport is not None:
            chunks, self._outgoing = self._outgoing, []
            connection.outbox.send(chunks)
        if connection.is_ending:
            connection.end_if_answered()

    def abandon(self) -> None:
        """Tells whoever is at work on a reply that the connection is gone."""
        if self.task is not None:
            self.task.cancel()
        owed, self.owed = self.owed, deque()
        for pending in owed:
            pending.abandon()
        release_ranges(self._outgoing)
        self._outgoing = []
