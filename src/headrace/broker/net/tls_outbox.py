"""The way out of a TLS connection: every byte through the transport, in pieces, as fast as the transport takes them.

    send(chunks) → queue → pump ──transport full──▶ wait until it is writable ──▶ pump …
                             ├──turn is over─────▶ next turn of the loop
                             └──cold page────────▶ read in a thread ─────────▶ pump …

There is no `sendfile` below TLS: a log range is read a piece at a time. So a connection holds a piece read and what the
transport keeps back, whatever it was sent; many small chunks leave as one, and with it as one TLS record.
"""

import asyncio
import errno
import logging
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.net.outbox import COPIED_BYTES_MAX, TURN_BYTES, Chunk, copied, release_ranges
from headrace.log.file_range import FileRange

logger = logging.getLogger("headrace.outbox")

PIECE_BYTES = 256 << 10
_NOWAIT = getattr(os, "RWF_NOWAIT", None)

Piece = bytes | bytearray | memoryview


class TlsOutbox:
    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        readers: Executor,
        probes: Probes,
        on_drained: Callable[[], None],
        on_disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        self._transport = transport
        self._loop = loop
        self._readers = readers
        self._probes = probes
        self._on_drained = on_drained
        self._on_disk_failed = on_disk_failed
        self._queue: deque[Chunk] = deque()
        self._held_bytes = 0
        self._is_full = False
        self._is_pumping = False
        self._resting = False
        self._closed = False
        transport.set_write_buffer_limits(PIECE_BYTES)

    @property
    def queued_bytes(self) -> int:
        return self._held_bytes + (0 if self._closed else self._transport.get_write_buffer_size())

    def send(self, chunks: list[Chunk]) -> None:
        if self._closed:
            release_ranges(chunks)
            return
        for chunk in chunks:
            self._held_bytes += len(chunk)
            if isinstance(chunk, FileRange) and chunk.length <= COPIED_BYTES_MAX:
                chunk = copied(chunk)
            self._queue.append(chunk)
        if not self._resting:
            self._pump()

    def end(self, transport: asyncio.Transport) -> None:
        """Leaves the last bytes to the transport, which may have some below its own buffer."""
        self.close()
        transport.close()

    def close(self) -> None:
        self._closed = True
        release_ranges(self._queue)
        self._queue.clear()
        self._held_bytes = 0

    def on_full(self) -> None:
        self._is_full = True

    def on_writable(self) -> None:
        self._is_full = False
        if not self._resting and not self._closed:
            self._pump()

    # -- pieces out ------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        if self._is_pumping:
            return
        self._is_pumping = True
        try:
            self._send_turn()
        except (OSError, DiskFailed) as error:
            self._give_up(error)
        finally:
            self._is_pumping = False

    def _send_turn(self) -> None:
        left = TURN_BYTES
        while self._queue and not self._is_full and not self._closed:
            if left <= 0:
                self._resting = True
                self._loop.call_soon(self._resume)
                return
            head = self._queue[0]
            piece = self._read(head) if isinstance(head, FileRange) else self._joined()
            if piece is None:
                return
            left -= len(piece)
            self._write(piece)

    def _resume(self) -> None:
        self._resting = False
        if self._closed:
            return
        self._pump()
        if not self._resting:
            self._on_drained()

    def _write(self, piece: Piece) -> None:
        self._held_bytes -= len(piece)
        self._probes.bytes_sent += len(piece)
        self._transport.write(piece)

    def _joined(self) -> Piece:
        """The chunks in memory at the head of the queue as one, up to a piece."""
        parts: list[Piece] = []
        size = 0
        while self._queue and size < PIECE_BYTES:
            chunk = self._queue[0]
            if isinstance(chunk, FileRange):
                break
            self._queue.popleft()
            room = PIECE_BYTES - size
            if len(chunk) > room:
                self._queue.appendleft(memoryview(chunk)[room:])
                chunk = memoryview(chunk)[:room]
            parts.append(chunk)
            size += len(chunk)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    # -- log ranges ------------------------------------------------------------------------------------------------

    def _read(self, head: FileRange) -> Piece | None:
        """The next piece of a range; None if it is not in memory, and a thread reads it."""
        step = min(head.length, PIECE_BYTES)
        data = _read_now(head, step)
        if data is None:
            self._read_in_thread(head, step)
            return None
        self._take(head, len(data))
        return data

    def _take(self, head: FileRange, count: int) -> None:
        if count == 0:
            fields = {"path": head.file.path, "offset": head.position}
            logger.error("%(path)s ends before the batches it is said to hold; closing the connection", fields)
            raise ConnectionError("the log file is shorter than the range that was promised")
        head.position += count
        head.length -= count
        if head.length == 0:
            self._queue.popleft()
            head.release()

    def _read_in_thread(self, head: FileRange, step: int) -> None:
        self._resting = True
        file = head.file
        file.pin()
        future = self._loop.run_in_executor(self._readers, file.pread, step, head.position)

        def on_read(done: asyncio.Future[bytes]) -> None:
            file.unpin()
            if self._closed:
                return
            try:
                data = done.result()
                self._take(head, len(data))
            except (OSError, DiskFailed) as error:
                self._give_up(error)
                return
            self._write(data)
            self._resume()

        future.add_done_callback(on_read)

    def _give_up(self, error: Exception) -> None:
        self.close()
        self._transport.abort()
        if isinstance(error, DiskFailed):
            self._on_disk_failed(error)
        elif isinstance(error, OSError) and error.errno == errno.EIO:
            self._on_disk_failed(DiskFailed(f"reading for a reply: {error.strerror}"))


def _read_now(head: FileRange, step: int) -> Piece | None:
    """The next bytes, as far as they are in memory; None if none are, and the disk would have to be waited for."""
    descriptor = head.file.fileno()
    if descriptor is None or _NOWAIT is None:
        return head.file.pread(step, head.position)
    data = bytearray(step)
    try:
        got = os.preadv(descriptor, (data,), head.position, _NOWAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return head.file.pread(step, head.position)
    return data if got == step else memoryview(data)[:got]
