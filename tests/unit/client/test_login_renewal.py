"""A login that is good for a while: renewed between requests, on the same connection, by the first one after its time."""

import asyncio
from collections.abc import Awaitable, Callable
from struct import Struct
from typing import Any

import pytest

from headrace.base.errors import Refused
from headrace.client.connection import ClientConnection, Disconnected
from headrace.wire.codec import encoded
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.producers import DescribeProducersRequest, DescribeProducersResponse
from headrace.wire.messages.sasl import SaslHandshakeRequest, SaslHandshakeResponse

_HEADER = Struct(">ihhi")


class Wire(asyncio.Transport):
    """Keeps the API and the id of each request; a test answers them in its own order."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[int, int]] = []

    def writelines(self, data: Any) -> None:
        _, key, _, correlation_id = _HEADER.unpack_from(b"".join(data))
        self.sent.append((key, correlation_id))

    def abort(self) -> None:
        pass


class Rig:
    def __init__(self) -> None:
        self.connection, self.wire = ClientConnection("test"), Wire()
        self.connection.connection_made(self.wire)
        self.logins = 0

    def ask(self) -> "asyncio.Task[DescribeProducersResponse]":
        request = DescribeProducersRequest(topics=[])
        return asyncio.ensure_future(self.connection.ask(request, DescribeProducersResponse, 0, 60.0))

    async def log_in(self) -> None:
        self.logins += 1
        await self.connection.ask(SaslHandshakeRequest("PLAIN"), SaslHandshakeResponse, 0, 60.0)
        self.connection.renew_login(3600.0, self.log_in)

    async def refuse(self) -> None:
        raise Refused(ErrorCode.SASL_AUTHENTICATION_FAILED, "the token has expired")

    def keys(self) -> list[int]:
        return [key for key, _ in self.wire.sent]

    async def answer(self, number: int) -> None:
        key, correlation_id = self.wire.sent[number]
        handshake = key == SaslHandshakeRequest.API_KEY
        body = encoded(SaslHandshakeResponse(), 0) if handshake else b"\0" + encoded(DescribeProducersResponse(), 0)
        frame = Struct(">ii").pack(4 + len(body), correlation_id) + body
        self.connection.get_buffer(-1)[: len(frame)] = frame
        self.connection.buffer_updated(len(frame))
        await turns()


async def turns() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def played(play: Callable[[Rig], Awaitable[None]]) -> None:
    async def run() -> None:
        await play(Rig())

    asyncio.run(run())


OURS, LOGIN = DescribeProducersRequest.API_KEY, SaslHandshakeRequest.API_KEY


def test_a_login_is_renewed_between_requests_and_once() -> None:
    async def play(rig: Rig) -> None:
        first = rig.ask()
        await turns()
        rig.connection.renew_login(0.0, rig.log_in)
        late = [rig.ask(), rig.ask()]
        await turns()
        # One is out: neither the login nor another request goes before its answer.
        assert rig.keys() == [OURS]
        await rig.answer(0)
        assert first.done() and rig.keys() == [OURS, LOGIN]
        await rig.answer(1)
        assert rig.keys() == [OURS, LOGIN, OURS, OURS]
        await rig.answer(2)
        await rig.answer(3)
        assert all(each.done() for each in late) and rig.logins == 1

    played(play)


def test_a_request_that_is_given_up_does_not_take_the_login_from_others() -> None:
    async def play(rig: Rig) -> None:
        rig.connection.renew_login(0.0, rig.log_in)
        given_up, kept = rig.ask(), rig.ask()
        await turns()
        given_up.cancel()
        await turns()
        await rig.answer(0)
        await rig.answer(1)
        assert kept.done() and not rig.connection.is_lost

    played(play)


def test_a_login_that_is_not_renewed_ends_the_connection() -> None:
    async def play(rig: Rig) -> None:
        rig.connection.renew_login(0.0, rig.refuse)
        for asked in [rig.ask(), rig.ask()]:
            with pytest.raises(Disconnected, match="not renewed: the token has expired"):
                await asked
        assert rig.connection.is_lost

    played(play)


def test_a_login_that_takes_longer_than_a_request_may_ends_the_connection() -> None:
    async def play(rig: Rig) -> None:
        rig.connection.renew_login(0.0, rig.log_in)
        request = DescribeProducersRequest(topics=[])
        with pytest.raises(Disconnected, match="not renewed in time"):
            await rig.connection.ask(request, DescribeProducersResponse, 0, 0.01)
        assert rig.connection.is_lost

    played(play)


def test_a_connection_lost_amid_a_login_is_told_to_all_that_wait() -> None:
    async def play(rig: Rig) -> None:
        rig.connection.renew_login(0.0, rig.log_in)
        asked = rig.ask()
        await turns()
        rig.connection.connection_lost(None)
        with pytest.raises(Disconnected):
            await asked

    played(play)
