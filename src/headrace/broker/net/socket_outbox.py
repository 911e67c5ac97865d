"""The way out of a plain connection: bytes by `sendmsg`, large log ranges by `sendfile`, in order, never blocking the loop.

    send(chunks) → queue → pump ──EAGAIN──▶ wait until writable ──▶ pump …
                             └──cold page──▶ read ahead in a thread ─▶ pump …

Writes go around the transport, straight to a duplicate of its socket: the transport only reads. So nothing can be
half-written in a transport buffer when `sendfile` starts, and uvloop, which refuses to watch a descriptor that its own
transport owns, watches the duplicate instead. It is made for the first reply: who never asks costs one descriptor only.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from concurrent.futures import Executor

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.net.descriptors import Descriptors
from headrace.broker.net.queued_outbox import NOWAIT, TURN_BYTES, QueuedOutbox, descriptor_of
from headrace.log.file_range import FileRange

_SENDMSG_CHUNKS = 64
_MORE: int = getattr(socket, "MSG_MORE", 0)


class SocketOutbox(QueuedOutbox):
    __slots__ = ("_descriptors", "_is_open", "_probe_byte", "_socket")

    # The transport keeps nothing back: the same slot by another name, and no call to ask for it with every request.
    queued_bytes: int = vars(QueuedOutbox)["held_bytes"]
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
        super().__init__(transport, loop, readers, probes, on_drained, on_disk_failed)
        self._descriptors = descriptors
        self._probe_byte = bytearray(1)
        self._is_open = False

    def end(self, transport: asyncio.Transport) -> None:
        self.close()
        transport.abort()

    def close(self) -> None:
        if self._is_open and not self._closed:
            self._loop.remove_writer(self._socket.fileno())
            self._socket.close()
            self._descriptors.give_back()
        super().close()

    def on_full(self) -> None:
        """The transport only reads: it has nothing to say about writing."""

    def on_writable(self) -> None:
        """See `on_full`."""

    def _pump(self) -> None:
        before = self.held_bytes
        try:
            if not self._is_open:
                self._open()
            self._send_turn()
        except OSError as error:
            self._give_up(error)
            return
        self._probes.bytes_sent += before - self.held_bytes

    def _open(self) -> None:
        if not self._descriptors.take():
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        self._socket = socket.socket(fileno=os.dup(self._transport.get_extra_info("socket").fileno()))
        self._socket.setblocking(False)
        self._is_open = True

    def _send_turn(self) -> None:
        budget = TURN_BYTES
        queue = self._queue
        while queue:
            head = queue[0]
            try:
                if isinstance(head, FileRange):
                    if budget <= 0:
                        self._rest_until_next_turn()
                        return
                    step = min(head.length, TURN_BYTES)
                    if self._is_cold(head, step):
                        self._warm(head, step)
                        return
                    sent = os.sendfile(self._socket.fileno(), descriptor_of(head), head.position, step)
                    budget -= sent
                    self._advance(head, sent)
                else:
                    self._send_bytes()
            except BlockingIOError:
                self._resting = True
                self._loop.add_writer(self._socket.fileno(), self._on_writable)
                return

    def _on_writable(self) -> None:
        self._loop.remove_writer(self._socket.fileno())
        self._resume()

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
        self.held_bytes -= sent
        for buffer in buffers:
            if sent < len(buffer):
                if sent:
                    queue[0] = memoryview(buffer)[sent:]
                return
            sent -= len(buffer)
            queue.popleft()

    def _is_cold(self, head: FileRange, step: int) -> bool:
        """A page that is not in memory would stop the whole loop inside sendfile; ask first, it costs a microsecond."""
        if NOWAIT is None:
            return False
        try:
            for position in (head.position, head.position + step - 1):
                os.preadv(descriptor_of(head), (self._probe_byte,), position, NOWAIT)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def _warm(self, head: FileRange, step: int) -> None:
        where = descriptor_of(head), head.position, step
        self._read_in_thread(head, _read_ahead, *where, then=lambda nothing: None)


def _read_ahead(descriptor: int, position: int, length: int) -> None:
    """Runs in a thread; the reads release the GIL and leave their pages in the cache."""
    os.posix_fadvise(descriptor, position, length, os.POSIX_FADV_WILLNEED)
    end = position + length
    while position < end:
        got = len(os.pread(descriptor, min(1 << 18, end - position), position))
        if got == 0:
            return
        position += got
