"""The way out of a TLS connection: every byte through the transport, in pieces, as fast as the transport takes them.

    send(chunks) → queue → pump ──transport full──▶ wait until it is writable ──▶ pump …
                             ├──turn is over─────▶ next turn of the loop
                             └──cold page────────▶ read in a thread ─────────▶ pump …

There is no `sendfile` below TLS: a log range is read a piece at a time. So a connection holds a piece read and what the
transport keeps back, whatever it was sent; many small chunks leave as one, and with it as one TLS record.
"""

import asyncio
import errno
import os
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Final

from headrace.base.errors import DiskFailed
from headrace.base.probe import Probes
from headrace.broker.net.queued_outbox import NOWAIT, TURN_BYTES, QueuedOutbox
from headrace.log.file_range import FileRange

PIECE_BYTES: Final = 256 << 10

Piece = bytes | bytearray | memoryview


class TlsOutbox(QueuedOutbox):
    __slots__ = ("_is_full", "_is_pumping")

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        readers: Executor,
        probes: Probes,
        on_drained: Callable[[], None],
        on_disk_failed: Callable[[DiskFailed], None],
    ) -> None:
        super().__init__(transport, loop, readers, probes, on_drained, on_disk_failed)
        self._is_full = False
        self._is_pumping = False
        transport.set_write_buffer_limits(PIECE_BYTES)

    @property
    def queued_bytes(self) -> int:
        return self.held_bytes + (0 if self._closed else self._transport.get_write_buffer_size())

    def end(self, transport: asyncio.Transport) -> None:
        """Leaves the last bytes to the transport, which may have some below its own buffer."""
        self.close()
        transport.close()

    def on_full(self) -> None:
        self._is_full = True

    def on_writable(self) -> None:
        self._is_full = False
        if not self._resting and not self._closed:
            self._pump()

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
                self._rest_until_next_turn()
                return
            head = self._queue[0]
            piece = self._read(head) if isinstance(head, FileRange) else self._joined()
            if piece is None:
                return
            left -= len(piece)
            self._write(piece)

    def _write(self, piece: Piece) -> None:
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
        self.held_bytes -= size
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _read(self, head: FileRange) -> Piece | None:
        """The next piece of a range; None if it is not in memory, and a thread reads it."""
        step = min(head.length, PIECE_BYTES)
        data = _read_now(head, step)
        if data is None:
            self._read_in_thread(head, head.file.pread, step, head.position, then=self._on_read)
            return None
        self._advance(head, len(data))
        return data

    def _on_read(self, data: Piece) -> None:
        head = self._queue[0]
        assert isinstance(head, FileRange)
        self._advance(head, len(data))
        self._write(data)


def _read_now(head: FileRange, step: int) -> Piece | None:
    """The next bytes, as far as they are in memory; None if none are, and the disk would have to be waited for."""
    descriptor = head.file.fileno()
    if descriptor is None or NOWAIT is None:
        return head.file.pread(step, head.position)
    data = bytearray(step)
    try:
        got = os.preadv(descriptor, (data,), head.position, NOWAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno != errno.EOPNOTSUPP:
            raise
        return head.file.pread(step, head.position)
    return data if got == step else memoryview(data)[:got]
