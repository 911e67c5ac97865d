"""The way out of a connection: what every outbox does, and the one for what has no plain socket, as the simulator.

SocketOutbox       plain TCP: `sendmsg` and `sendfile`, around the transport (`socket_outbox`)
TlsOutbox          TLS: every byte through the transport, in pieces (`tls_outbox`)
TransportOutbox    anything else: each reply at once through the transport
"""

import asyncio
from collections import deque
from typing import Protocol

from headrace.base.probe import Probes
from headrace.log.file_range import FileRange

Chunk = bytes | bytearray | memoryview | FileRange


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
