"""A wire between a store and an etcd member that a test can cut, and that loses one reply or holds one request back."""

import asyncio
from contextlib import suppress

COMMIT = b"POST /v3/kv/txn"
WATCH = b"POST /v3/watch"


class Relay:
    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_cut = False
        self.port = 0
        self.replies_to_lose = 0
        self.requests_to_hold = 0
        self.held: list[bytes] = []
        self.watches = asyncio.Semaphore(0)
        """One more for every watch that was asked for."""

    async def __aenter__(self) -> "Relay":
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def url(self, prefix: str) -> str:
        return f"etcd://127.0.0.1:{self.port}{prefix}"

    def cut(self) -> None:
        self._is_cut = True
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        self._is_cut = False

    async def deliver_held(self) -> bytes:
        """What was held back arrives after all; etcd's answer, which nobody waits for any more."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        writer.write(self.held.pop(0))
        answer = await reader.read(65536)
        writer.transport.abort()
        return answer

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        with suppress(OSError):
            if not self._is_cut:
                await self._carry(reader, writer)
        writer.transport.abort()
        self._writers.discard(writer)
        self._tasks.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        etcd_reader, etcd_writer = await asyncio.open_connection("127.0.0.1", self._target_port)
        self._writers.add(etcd_writer)
        back = asyncio.create_task(_copy(etcd_reader, writer))
        try:
            while data := await reader.read(1 << 20):
                if data.startswith(COMMIT) and self.requests_to_hold:
                    self.requests_to_hold -= 1
                    self.held.append(data)
                    return
                if data.startswith(COMMIT) and self.replies_to_lose:
                    self.replies_to_lose -= 1
                    back.cancel()
                    await asyncio.wait([back])
                    etcd_writer.write(data)
                    await etcd_reader.read(1 << 20)
                    return
                etcd_writer.write(data)
                if data.startswith(WATCH):
                    self.watches.release()
        finally:
            back.cancel()
            await asyncio.wait([back])
            etcd_writer.transport.abort()
            self._writers.discard(etcd_writer)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(1 << 20):
            writer.write(data)
    writer.transport.abort()
