"""One delivery to a receiver: a POST with a deadline, whose outcome is always an `Answer`, never an exception.

Each subscription has a pool of its own, so a receiver that hangs holds up nobody else. Redirects are not followed, no
proxy and no cookie is used, and of a reply only its first bytes are read.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence

import httpcore

from headrace import __version__
from headrace.gateway.webhooks.connect import CheckedConnections
from headrace.gateway.webhooks.retry import Answer
from headrace.gateway.webhooks.target import ForbiddenTarget, Network

REPLY_BYTES_READ = 64 * 1024
REASON_CHARACTERS_MAX = 200
IDLE_SECONDS_MAX = 30.0
CLOSE_SECONDS_MAX = 2.0


class Sender:
    def __init__(self, url: str, timeout_ms: int, parallel_max: int, allowed: Sequence[Network]) -> None:
        self._url = url
        self._seconds_max = timeout_ms / 1000
        self._turns = asyncio.Semaphore(parallel_max)
        self._pool = httpcore.AsyncConnectionPool(
            max_connections=parallel_max,
            keepalive_expiry=IDLE_SECONDS_MAX,
            network_backend=CheckedConnections(allowed),
        )

    async def close(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_SECONDS_MAX):
                await self._pool.aclose()

    async def post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        said = {"Content-Type": "application/json", "User-Agent": f"headrace/{__version__}", **headers}
        async with self._turns:
            try:
                async with asyncio.timeout(self._seconds_max):
                    return await self._post(said, body)
            except TimeoutError:
                return Answer(0, f"no answer within {self._seconds_max:g} s")
            except ForbiddenTarget as refusal:
                return Answer(0, str(refusal))
            except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
                return Answer(0, f"{type(error).__name__}: {error}"[:REASON_CHARACTERS_MAX])

    async def _post(self, headers: Mapping[str, str], body: bytes) -> Answer:
        async with self._pool.stream("POST", self._url, headers=list(headers.items()), content=body) as reply:
            read = b""
            async for chunk in reply.aiter_stream():
                read += chunk
                # The rest is not worth its time: leaving the reply unread closes the connection.
                if len(read) >= REPLY_BYTES_READ:
                    break
        reason = "" if 200 <= reply.status < 300 else _first_words(read)
        return Answer(reply.status, reason, _retry_after_ms(reply.headers))


def _first_words(body: bytes) -> str:
    text = body[: REASON_CHARACTERS_MAX * 4].decode(errors="replace")
    printable = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(printable.split())[:REASON_CHARACTERS_MAX]


def _retry_after_ms(headers: Sequence[tuple[bytes, bytes]]) -> int:
    """In seconds; the form with a date is for pages, not for programs, and is taken for nothing."""
    for name, value in headers:
        if name.lower() == b"retry-after" and value.isdigit() and len(value) < 8:
            return int(value) * 1000
    return 0
