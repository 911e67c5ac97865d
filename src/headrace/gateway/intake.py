"""Request bodies within limits: so many bytes each, so many in all, and so long to arrive.

What is over the whole budget is turned away with 429: callers that come faster than brokers acknowledge wait outside, not
in our memory.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from types import TracebackType

from starlette.requests import ClientDisconnect, Request

from headrace.gateway.problem import Problem
from headrace.gateway.settings import GatewaySettings

RETRY_AFTER = {"Retry-After": "1"}


class Intake:
    def __init__(self, settings: GatewaySettings) -> None:
        self.body_bytes_max = settings.body_bytes_max
        self.seconds_max = settings.body_seconds_max
        self._bytes_max = settings.in_flight_bytes_max
        self._taken = 0
        self._polls_left = settings.polls_max

    def body(self, request: Request) -> "Body":
        """`async with intake.body(request) as data`; its bytes count until the end of the block."""
        return Body(self, request)

    def take(self, count: int) -> None:
        if self._taken + count > self._bytes_max:
            raise too_busy("the gateway is working on as many bytes as it may (in_flight_bytes_max)")
        self._taken += count

    def give_back(self, count: int) -> None:
        self._taken -= count
        assert self._taken >= 0, self._taken

    @contextlib.contextmanager
    def held(self, count: int) -> Iterator[None]:
        self.take(count)
        try:
            yield
        finally:
            self.give_back(count)

    @contextlib.contextmanager
    def poll(self) -> Iterator[None]:
        """A place among the callers who wait for messages; each of them holds a connection to a broker."""
        if self._polls_left <= 0:
            raise too_busy("as many callers wait for messages as may (polls_max)")
        self._polls_left -= 1
        try:
            yield
        finally:
            self._polls_left += 1


class Claim:
    """Bytes of one caller that count as in flight, more and more of them, until `release`."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._taken = 0

    def reach(self, size: int) -> None:
        if size > self._taken:
            self._intake.take(size - self._taken)
            self._taken = size

    def release(self) -> None:
        self._intake.give_back(self._taken)
        self._taken = 0


class Body:
    def __init__(self, intake: Intake, request: Request) -> None:
        self._intake = intake
        self._request = request
        self._claim = Claim(intake)

    async def __aenter__(self) -> bytes:
        try:
            return await self._read()
        except BaseException:
            self._claim.release()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._claim.release()

    async def _read(self) -> bytes:
        self._check_length()
        receive = self._request.receive
        try:
            async with asyncio.timeout(self._intake.seconds_max):
                message = await receive()
                data: bytes = message.get("body", b"")
                # Nearly every body has come whole by the time that it is asked for.
                if message.get("more_body"):
                    data = await self._read_on(data)
                elif message["type"] == "http.disconnect":
                    raise ClientDisconnect
        except TimeoutError:
            raise too_slow(self._intake.seconds_max) from None
        self._count(len(data))
        return data

    async def _read_on(self, first: bytes) -> bytes:
        parts, size, more = [first], len(first), True
        self._count(size)
        while more:
            message = await self._request.receive()
            if message["type"] == "http.disconnect":
                raise ClientDisconnect
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            self._count(size)
            more = message.get("more_body", False)
        return b"".join(parts)

    def _check_length(self) -> None:
        """Refuses a body whose announced length is too large. Bytes count as in flight as they come, not as they are
        announced.
        """
        for name, value in self._request.scope["headers"]:
            if name == b"content-length" and value.isdigit() and int(value) > self._intake.body_bytes_max:
                raise too_large(self._intake.body_bytes_max)

    def _count(self, size: int) -> None:
        if size > self._intake.body_bytes_max:
            raise too_large(self._intake.body_bytes_max)
        self._claim.reach(size)


def too_busy(detail: str) -> Problem:
    return Problem(
        429, "Too many requests", detail, "try again after the time in Retry-After, and slower", headers=RETRY_AFTER
    )


def too_large(bytes_max: int) -> Problem:
    return Problem(
        413,
        "Body too large",
        f"the body has more than {bytes_max} bytes (body_bytes_max)",
        "send it in smaller batches, or as a stream of application/x-ndjson",
        headers={"Connection": "close"},
    )


def too_slow(seconds_max: float) -> Problem:
    return Problem(
        408,
        "Request timed out",
        f"the body did not arrive within {seconds_max:g} s (body_seconds_max)",
        "send it faster, or in smaller parts",
        headers={"Connection": "close"},
    )
