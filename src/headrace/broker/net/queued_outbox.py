"""The queue of an outbox: chunks in, and what is left of them, until a sink has taken all.

send(chunks) → queue → pump (the sink's) ──▶ rest: until there is room, the next turn, or a thread has read ──▶ pump …
"""

import asyncio
import errno
import logging
import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any, Final

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.net.outbox import Chunk, release_ranges
from headrace.log.file_range import FileRange

logger = logging.getLogger("headrace.outbox")

# One connection's share of a loop turn; a larger reply continues in the next turn, after everybody else had theirs.
TURN_BYTES: Final = 1 << 20
# Up to here a copy is cheaper than a `sendfile` of its own, and the reader wakes once instead of twice.
COPIED_BYTES_MAX: Final = 8192
NOWAIT: Final = getattr(os, "RWF_NOWAIT", None)


class QueuedOutbox(ABC):
    """Held bytes are in the queue, and not yet taken by the sink."""

    __slots__ = (
        "_closed",
        "_loop",
        "_on_disk_failed",
        "_on_drained",
        "_probes",
        "_queue",
        "_readers",
        "_resting",
        "_transport",
        "held_bytes",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        readers: Executor,
        probes: Probes,
        on_drained: Callable[[], None],
        on_disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        self.held_bytes = 0
        self._transport = transport
        self._loop = loop
        self._readers = readers
        self._probes = probes
        self._on_drained = on_drained
        self._on_disk_failed = on_disk_failed
        self._queue: deque[Chunk] = deque()
        self._resting = False
        self._closed = False

    @abstractmethod
    def _pump(self) -> None:
        """Sends what the sink takes now; rests if something is left that nobody else wakes it for."""

    def send(self, chunks: list[Chunk]) -> None:
        if self._closed:
            release_ranges(chunks)
            return
        for chunk in chunks:
            self.held_bytes += len(chunk)
            if isinstance(chunk, FileRange) and chunk.length <= COPIED_BYTES_MAX:
                chunk = _copied(chunk)
            self._queue.append(chunk)
        if not self._resting:
            self._pump()

    def close(self) -> None:
        self._closed = True
        release_ranges(self._queue)
        self._queue.clear()
        self.held_bytes = 0

    def _rest_until_next_turn(self) -> None:
        self._resting = True
        self._loop.call_soon(self._resume)

    def _resume(self) -> None:
        self._resting = False
        if self._closed:
            return
        self._pump()
        if not self._resting:
            self._on_drained()

    def _advance(self, head: FileRange, count: int) -> None:
        """Takes what was read or sent of the range at the head of the queue off it."""
        if count == 0:
            fields = {"path": head.file.path, "offset": head.position}
            logger.error("%(path)s ends before the batches it is said to hold; closing the connection", fields)
            raise ConnectionError("the log file is shorter than the range that was promised")
        self.held_bytes -= count
        head.position += count
        head.length -= count
        if head.length == 0:
            self._queue.popleft()
            head.release()

    def _read_in_thread(
        self, head: FileRange, read: Callable[..., Any], *arguments: int, then: Callable[[Any], None]
    ) -> None:
        self._resting = True
        file = head.file
        file.pin()
        future = self._loop.run_in_executor(self._readers, read, *arguments)

        def on_read(done: asyncio.Future[Any]) -> None:
            file.unpin()
            error = done.exception()
            if self._closed:
                return
            if error is None:
                try:
                    then(done.result())
                except OSError as failure:
                    error = failure
            if error is not None:
                self._give_up(error)
            else:
                self._resume()

        future.add_done_callback(on_read)

    def _give_up(self, error: BaseException) -> None:
        """The peer is gone; the transport's own reading will say so too, but it may be paused. Or the disk is."""
        self.close()
        self._transport.abort()
        if isinstance(error, DiskFailed):
            self._on_disk_failed(error)
        elif isinstance(error, OSError) and error.errno == errno.EIO:
            self._on_disk_failed(DiskFailed(f"reading for a reply: {error.strerror}"))


def descriptor_of(head: FileRange) -> int:
    descriptor = head.file.fileno()
    assert descriptor is not None, "a simulated file goes out through a TransportOutbox"
    return descriptor


def _copied(chunk: FileRange) -> Chunk:
    """The range's bytes, if they are in memory and all there; otherwise the range itself, for the way that copes with
    that.
    """
    if NOWAIT is None:
        return chunk
    data = bytearray(chunk.length)
    try:
        whole = os.preadv(descriptor_of(chunk), (data,), chunk.position, NOWAIT) == chunk.length
    except OSError:
        return chunk
    if not whole:
        return chunk
    chunk.release()
    return data
