"""The simulator's own ground: virtual time, hosts that pause and die, streams that stall but never have a hole."""

import asyncio
from random import Random
from typing import Any

import pytest

from sim.loop import Agenda, HostLoop
from sim.network import Network


class Room:
    """An agenda, a network and a few hosts; what goes wrong in a callback is kept."""

    def __init__(self, seed: int = 1) -> None:
        self.agenda = Agenda()
        self.network = Network(self.agenda, Random(seed))
        self.errors: list[dict[str, Any]] = []

    def host(self, number: int, epoch: float = 0.0) -> HostLoop:
        return HostLoop(
            f"host {number}",
            f"10.0.0.{number}",
            self.agenda,
            self.network,
            lambda: 0.5,
            lambda loop, context: self.errors.append(context),
            epoch,
        )


async def note(seen: list[Any], what: Any, seconds: float) -> None:
    await asyncio.sleep(seconds)
    seen.append(what)


def test_time_jumps_to_what_is_next() -> None:
    room = Room()
    host = room.host(1, epoch=1000.0)
    seen: list[Any] = []
    host.create_task(note(seen, "hour", 3600.0))
    host.create_task(note(seen, "second", 1.0))
    host.call_at(host.time() + 2.0, seen.append, "two")
    room.agenda.run(7200.0)
    assert seen == ["second", "two", "hour"]
    assert room.agenda.now == 7200.0
    assert host.time() == 8200.0


def test_callbacks_of_one_moment_keep_their_order() -> None:
    room = Room()
    host = room.host(1)
    seen: list[int] = []
    for number in range(100):
        host.call_later(1.0, seen.append, number)
    room.agenda.run(2.0)
    assert seen == list(range(100))


def test_a_paused_host_does_later_what_it_missed_and_others_go_on() -> None:
    room = Room()
    still, other = room.host(1), room.host(2)
    seen: list[Any] = []
    still.create_task(note(seen, "still", 1.0))
    other.create_task(note(seen, "other", 2.0))
    room.agenda.run(0.0)
    still.pause()
    room.agenda.run(5.0)
    assert seen == ["other"]
    still.resume()
    room.agenda.run(0.0)
    assert seen == ["other", "still"]


def test_nothing_of_a_dead_host_runs_not_even_its_finally() -> None:
    room = Room()
    host = room.host(1)
    seen: list[str] = []

    async def tidy() -> None:
        try:
            await asyncio.sleep(1.0)
        finally:
            seen.append("tidied")

    host.create_task(tidy())
    room.agenda.run(0.5)
    host.die()
    room.agenda.run(5.0)
    assert seen == []
    host.bury()


def test_an_executor_does_its_work_at_its_end_or_never() -> None:
    room = Room()
    host = room.host(1)
    done: list[str] = []
    host.run_in_executor(None, done.append, "first")
    room.agenda.run(1.0)
    host.run_in_executor(None, done.append, "second")
    room.agenda.run(0.3)
    host.die()
    room.agenda.run(1.0)
    assert done == ["first"]


def test_an_error_in_a_callback_is_told() -> None:
    room = Room()
    room.host(1).call_soon([].pop)
    room.agenda.run(1.0)
    assert isinstance(room.errors[0]["exception"], IndexError)


class Sink(asyncio.Protocol):
    def __init__(self) -> None:
        self.received = bytearray()
        self.lost: list[Exception | None] = []
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.received += data

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.append(exc)


class Pair:
    """A connection between two hosts, open."""

    def __init__(self, room: Room) -> None:
        self.room = room
        self.client_host, self.server_host = room.host(1), room.host(2)
        self.server = Sink()
        self.client: Sink
        task = self.client_host.create_task(self._open())
        assert room.agenda.run(10.0, task.done)
        self.client = task.result()

    async def _open(self) -> Sink:
        await self.server_host.create_server(lambda: self.server, "10.0.0.2", 9092)
        _, client = await self.client_host.create_connection(Sink, "10.0.0.2", 9092)
        return client  # type: ignore[no-any-return]


@pytest.mark.parametrize("seed", range(5))
def test_bytes_arrive_in_order_whatever_is_cut_and_mended(seed: int) -> None:
    room = Room(seed)
    room.network.rng = rng = Random(seed)
    pair = Pair(room)
    sent = bytearray()
    for _ in range(200):
        chunk = rng.randbytes(rng.randrange(1, 3000))
        sent += chunk
        pair.client.transport.write(chunk)
        if rng.random() < 0.1:
            room.network._cuts["10.0.0.1", "10.0.0.2"] = None
        if rng.random() < 0.1:
            room.network.mend("10.0.0.1", "10.0.0.2")
        room.agenda.run(0.002)
    room.network.mend_all()
    room.agenda.run(10.0)
    assert pair.server.received == sent
    assert room.errors == []


def test_a_writer_is_held_back_by_a_reader_that_pauses() -> None:
    room = Room()
    pair = Pair(room)
    held: list[str] = []
    pair.client.pause_writing = lambda: held.append("pause")  # type: ignore[method-assign]
    pair.client.resume_writing = lambda: held.append("resume")  # type: ignore[method-assign]
    pair.server.transport.pause_reading()
    for _ in range(100):
        pair.client.transport.write(bytes(10_000))
    room.agenda.run(1.0)
    assert held == ["pause"]
    assert pair.client.transport.get_write_buffer_size() > 0
    pair.server.transport.resume_reading()
    room.agenda.run(1.0)
    assert held == ["pause", "resume"]
    assert len(pair.server.received) == 1_000_000


def test_a_close_delivers_first_and_an_abort_resets() -> None:
    for end, error in (("close", type(None)), ("abort", ConnectionResetError)):
        room = Room()
        pair = Pair(room)
        pair.client.transport.write(b"last words")
        room.agenda.run(1.0)
        getattr(pair.client.transport, end)()
        room.agenda.run(1.0)
        assert pair.server.received == b"last words"
        assert isinstance(pair.server.lost[0], error)
        assert pair.client.lost == [None]


def test_a_killed_host_resets_its_connections_and_one_without_power_is_silent_for_a_while() -> None:
    for dark in (False, True):
        room = Room()
        pair = Pair(room)
        room.network.drop(pair.server_host, dark)
        pair.server_host.die()
        room.agenda.run(0.2)
        assert bool(pair.client.lost) is not dark
        room.agenda.run(10.0)
        assert isinstance(pair.client.lost[0], ConnectionResetError)


def test_who_connects_to_nobody_is_refused_and_over_a_cut_has_to_wait() -> None:
    room = Room()
    host = room.host(1)
    refused = host.create_task(host.create_connection(Sink, "10.0.0.9", 9092))
    room.agenda.run(1.0)
    assert isinstance(refused.exception(), ConnectionRefusedError)
    room.network.cut("10.0.0.9", "10.0.0.1")
    waiting = host.create_task(host.create_connection(Sink, "10.0.0.9", 9092))
    room.agenda.run(60.0)
    assert not waiting.done()
    room.network.mend_all()
    room.agenda.run(5.0)
    assert isinstance(waiting.exception(), ConnectionRefusedError)
