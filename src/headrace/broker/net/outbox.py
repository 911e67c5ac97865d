"""The way out of a connection: bytes by `sendmsg`, large log ranges by `sendfile`, in order, never blocking the loop.

    send(chunks) → queue → pump ──EAGAIN──▶ wait until writable ──▶ pump …
                             └──cold page──▶ read ahead in a thread ─▶ pump …

Writes go around the transport, straight to a duplicate of its socket: the transport only reads. So nothing can be
half-written in a transport buffer when `sendfile` starts, and uvloop, which refuses to watch a descriptor that its own
transport owns, watches the duplicate instead. It is made for the first reply: who never asks costs one descriptor only.
`TransportOutbox` is for what has no plain socket, as the simulator; TLS has one of its own (`tls_outbox`).
"""

import asyncio
import errno
import logging
import os
import socket
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Protocol

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.net.descriptors import Descriptors
from headrace.log.file_range import FileRange

logger = logging.getLogger("headrace.outbox")

Chunk = bytes | bytearray | memoryview | FileRange

# One connection's share of a loop turn; a larger reply continues in the next turn, after everybody else had theirs.
TURN_BYTES = 1 << 20
# Up to here a copy is cheaper than a `sendfile` of its own, and the reader wakes once instead of twice.
COPIED_BYTES_MAX = 8192
_SENDMSG_CHUNKS = 64
_NOWAIT = getattr(os, "RWF_NOWAIT", None)
_MORE: int = getattr(socket, "MSG_MORE", 0)


class Outbox(Protocol):
    @property
    def queued_bytes(self) -> int: ...

    def send(self, chunks: list[Chunk]) -> None: ...

    def on_full(self) -> None:
        """The transport has too much to send."""

    def on_writable(self) -> None:
        """The transport takes more again."""

    def end(self, transport: asyncio.Transport) -> None:
        """Closes when all that was sent is on its way."""

    def close(self) -> None: ...


class SocketOutbox:
    """Sends on a plain TCP socket."""

    _socket: socket.socket

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        readers: Executor,
        probes: Probes,
        descriptors: Descriptors,
        on_drained: Callable[[], None],
        on_disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        self.queued_bytes = 0
        self._transport = transport
        self._loop = loop
        self._readers = readers
        self._probes = probes
        self._descriptors = descriptors
        self._on_drained = on_drained
        self._on_disk_failed = on_disk_failed
        self._queue: deque[Chunk] = deque()
        self._resting = False
        self._closed = False
        self._probe_byte = bytearray(1)
        self._is_open = False

    def send(self, chunks: list[Chunk]) -> None:
        if self._closed:
            release_ranges(chunks)
            return
        for chunk in chunks:
            self.queued_bytes += len(chunk)
            if isinstance(chunk, FileRange) and chunk.length <= COPIED_BYTES_MAX:
                chunk = copied(chunk)
            self._queue.append(chunk)
        if not self._resting:
            self._pump()

    def end(self, transport: asyncio.Transport) -> None:
        self.close()
        transport.abort()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._is_open:
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
            self._descriptors.give_back()
        release_ranges(self._queue)
        self._queue.clear()
        self.queued_bytes = 0

    def on_full(self) -> None:
        """The transport only reads: it has nothing to say about writing."""

    def on_writable(self) -> None:
        """See `on_full`."""

    def _pump(self) -> None:
        self._resting = False
        before = self.queued_bytes
        try:
            if not self._is_open:
                self._open()
            self._send_turn()
        except OSError as error:
            self._give_up(error)
            return
        self._probes.bytes_sent += before - self.queued_bytes

    def _open(self) -> None:
        if not self._descriptors.take():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self._socket = socket.socket(fileno=os.dup(self._transport.get_extra_info("socket").fileno()))
        self._socket.setblocking(False)
        self._is_open = True

    def _give_up(self, error: BaseException) -> None:
        """The peer is gone; the transport's own reading will say so too, but it may be paused. Or the disk is."""
        self.close()
        self._transport.abort()
        if isinstance(error, OSError) and error.errno == errno.EIO:
            self._on_disk_failed(DiskFailed(f"reading for a reply: {error.strerror}"))

    def _send_turn(self) -> None:
        budget = TURN_BYTES
        queue = self._queue
        while queue:
            head = queue[0]
            try:
                if isinstance(head, FileRange):
                    if budget <= 0:
                        self._rest()
                        self._loop.call_soon(self._resume)
                        return
                    step = min(head.length, TURN_BYTES)
                    if self._is_cold(head, step):
                        self._warm(head, step)
                        return
                    sent = os.sendfile(self._socket.fileno(), _descriptor(head), head.position, step)
                    budget -= sent
                    self._range_sent(head, sent)
                else:
                    self._send_bytes()
            except BlockingIOError:
                self._rest()
                self._loop.add_writer(self._socket.fileno(), self._on_writable)
                return

    def _rest(self) -> None:
        self._resting = True

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._socket.fileno())
        self._resume()

    def _resume(self) -> None:
        if self._closed:
            return
        self._pump()
        if not self._resting:
            self._on_drained()

    def _range_sent(self, head: FileRange, sent: int) -> None:
        if sent == 0:
            fields = {"path": head.file.path, "offset": head.position}
            logger.error("%(path)s ends before the batches it is said to hold; closing the connection", fields)
            raise ConnectionError("the log file is shorter than the range that was promised")
        self.queued_bytes -= sent
        head.position += sent
        head.length -= sent
        if head.length == 0:
            self._queue.popleft()
            head.release()

    def _send_bytes(self) -> None:
        queue = self._queue
        buffers: list[bytes | bytearray | memoryview] = []
        more = False
        for chunk in queue:
            if isinstance(chunk, FileRange) or len(buffers) == _SENDMSG_CHUNKS:
                more = True
                break
            buffers.append(chunk)
        # MSG_MORE lets the kernel put a fetch reply's head and its first records into one segment.
        flags = _MORE if more else 0
        sent = self._socket.send(buffers[0], flags) if len(buffers) == 1 else self._socket.sendmsg(buffers, (), flags)
        self.queued_bytes -= sent
        for buffer in buffers:
            if sent < len(buffer):
                if sent:
                    queue[0] = memoryview(buffer)[sent:]
                return
            sent -= len(buffer)
            queue.popleft()

    def _is_cold(self, head: FileRange, step: int) -> bool:
        """A page that is not in memory would stop the whole loop inside sendfile; ask first, it costs a microsecond."""
        if _NOWAIT is None:
            return False
        try:
            for position in (head.position, head.position + step - 1):
                os.preadv(_descriptor(head), (self._probe_byte,), position, _NOWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _warm(self, head: FileRange, step: int) -> None:
        self._rest()
        file = head.file
        file.pin()
        future = self._loop.run_in_executor(self._readers, _read_ahead, _descriptor(head), head.position, step)

        def resume(done: asyncio.Future[None]) -> None:
            file.unpin()
            error = done.exception()
            if self._closed:
                return
            if error is not None:
                self._give_up(error)
                return
            self._resume()

        future.add_done_callback(resume)


def _descriptor(head: FileRange) -> int:
    descriptor = head.file.fileno()
    assert descriptor is not None, "a simulated file goes out through a TransportOutbox"
    return descriptor


def copied(chunk: FileRange) -> Chunk:
    """The range's bytes, if they are in memory and all there; otherwise the range itself, for the way that copes with
    that.
    """
    if _NOWAIT is None:
        return chunk
    data = bytearray(chunk.length)
    try:
        whole = os.preadv(_descriptor(chunk), (data,), chunk.position, _NOWAIT) == chunk.length
    except OSError:
        return chunk
    if not whole:
        return chunk
    chunk.release()
    return data


def _read_ahead(descriptor: int, position: int, length: int) -> None:
    """Runs in a thread; the reads release the GIL and leave their pages in the cache."""
    os.posix_fadvise(descriptor, position, length, os.POSIX_FADV_WILLNEED)
    end = position + length
    while position < end:
        got = len(os.pread(descriptor, min(1 << 18, end - position), position))
        if got == 0:
            return
        position += got


class TransportOutbox:
    """Sends through the transport itself, reading log ranges into memory: three times the CPU, works everywhere."""

    def __init__(self, transport: asyncio.Transport, probes: Probes) -> None:
        self._transport = transport
        self._probes = probes

    @property
    def queued_bytes(self) -> int:
        return self._transport.get_write_buffer_size()

    def on_full(self) -> None:
        """Does nothing: senders look at `queued_bytes`."""

    def on_writable(self) -> None:
        """Nothing is kept back here."""

    def send(self, chunks: list[Chunk]) -> None:
        parts = [chunk.read() if isinstance(chunk, FileRange) else chunk for chunk in chunks]
        release_ranges(chunks)
        data = b"".join(parts)
        self._probes.bytes_sent += len(data)
        self._transport.write(data)

    def end(self, transport: asyncio.Transport) -> None:
        transport.abort()

    def close(self) -> None:
        return


def release_ranges(chunks: "list[Chunk] | deque[Chunk]") -> None:
    for chunk in chunks:
        if isinstance(chunk, FileRange):
            chunk.release()
