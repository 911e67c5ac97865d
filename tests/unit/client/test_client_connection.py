"""Responses in pieces of any size and in any order, and a request that nobody answers."""

import asyncio
from struct import pack
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.client.connection import SMALL_BUFFER, ClientConnection, Disconnected
from headrace.wire.codec import encoded
from headrace.wire.messages.producers import DescribeProducersRequest, DescribeProducersResponse


class Wire(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.is_aborted = False

    def write(self, data: Any) -> None:
        pass

    def abort(self) -> None:
        self.is_aborted = True


def answer(correlation_id: int, body_bytes: int) -> bytes:
    """A frame with a response that says so, and trailing bytes, which every client ignores."""
    body = encoded(DescribeProducersResponse(throttle_time_ms=correlation_id), 0)
    body = pack(">ib", correlation_id, 0) + body + bytes(body_bytes)
    return pack(">i", len(body)) + body


def receive(connection: ClientConnection, data: bytes) -> None:
    while data:
        room = connection.get_buffer(-1)
        assert len(room) > 0
        part, data = data[: len(room)], data[len(room) :]
        room[: len(part)] = part
        connection.buffer_updated(len(part))


async def ask(connection: ClientConnection, seconds_max: float = 60.0) -> DescribeProducersResponse:
    return await connection.ask(DescribeProducersRequest(topics=[]), DescribeProducersResponse, 0, seconds_max)


sizes = st.one_of(st.integers(0, 40), st.integers(SMALL_BUFFER - 40, SMALL_BUFFER + 40), st.just(5 * SMALL_BUFFER))


@given(st.lists(sizes, min_size=1, max_size=6), st.lists(st.integers(1, 2 * SMALL_BUFFER), max_size=8), st.randoms())
def test_every_answer_finds_its_question(body_sizes: list[int], cuts: list[int], random: Any) -> None:
    async def play() -> None:
        connection = ClientConnection("test")
        connection.connection_made(Wire())
        asking = [asyncio.ensure_future(ask(connection)) for _ in body_sizes]
        await asyncio.sleep(0)
        order = list(range(len(body_sizes)))
        random.shuffle(order)
        data = b"".join(answer(i + 1, body_sizes[i]) for i in order)
        for cut in cuts:
            receive(connection, data[:cut])
            data = data[cut:]
        receive(connection, data)
        assert [response.throttle_time_ms for response in await asyncio.gather(*asking)] == [
            i + 1 for i in sorted(order)
        ]
        connection.close()

    asyncio.run(play())


def test_a_request_without_an_answer_ends_the_connection_and_all_that_wait_on_it() -> None:
    async def play() -> None:
        connection, wire = ClientConnection("test"), Wire()
        connection.connection_made(wire)
        patient, answered, hasty = [
            asyncio.ensure_future(ask(connection, seconds)) for seconds in (3600.0, 7200.0, 0.0)
        ]
        await asyncio.sleep(0)
        receive(connection, answer(2, 0))
        assert (await answered).throttle_time_ms == 2
        for waiting in (hasty, patient):
            with pytest.raises(Disconnected, match="DescribeProducersResponse"):
                await waiting
        assert wire.is_aborted and connection.is_lost

    asyncio.run(play())


@pytest.mark.parametrize("size", [-1, 0, 3, 1 << 30])
def test_a_frame_of_an_impossible_size_ends_the_connection(size: int) -> None:
    async def play() -> None:
        connection = ClientConnection("test")
        connection.connection_made(Wire())
        receive(connection, pack(">i", size))
        assert connection.is_lost

    asyncio.run(play())
