"""A connection driven by hand: bytes in as they come, replies out in order, memory by what arrives and never by claims."""

import struct

import pytest

from headrace.base.errors import DiskFailed, PeerError
from headrace.base.probe import Probes
from headrace.broker.net.budget import Budget
from headrace.broker.net.connection import OWED_REPLIES_MAX, QUEUED_REPLY_BYTES_MAX, Connection
from headrace.broker.net.connection_limits import ConnectionCount, ConnectionLimits
from headrace.broker.net.descriptors import Descriptors
from headrace.broker.net.frame_buffer import PIPELINE_BUFFER, SMALL_BUFFER
from headrace.broker.net.listener import Listener, Shared
from headrace.broker.net.requests_in_order import TURN_FRAMES, Pending
from headrace.broker.net.sweep import KEEP_BUFFER_SECONDS
from headrace.cluster.listeners import PlannedListener
from quiet_loop import QuietLoop, Wire

MIB = 1 << 20
ROOMY = ConnectionLimits(broker_max=1000, listener_max=1000, per_ip_max=1000, idle_seconds_max=600.0)


class Echo:
    """Answers every frame with itself, unless a test has something else in mind for the next."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.owed: list[Pending] = []
        self.raises: Exception | None = None
        self.owes = False
        self.reply_bytes = 0

    def dispatch(self, connection: Connection, frame: memoryview) -> None:
        self.frames.append(bytes(frame[:100]))
        if self.raises is not None:
            raise self.raises
        if self.owes:
            pending = Pending(connection.requests, lambda response: [response])
            self.owed.append(pending)
            connection.requests.owe(pending)
        else:
            connection.requests.reply([bytes(self.reply_bytes) or bytes(frame)])


class Room:
    """A listener without an address, and connections to it."""

    def __init__(self, buffer_bytes_max: int = 128 * MIB, **limits: int) -> None:
        self.loop = QuietLoop()
        self.echo = Echo()
        self.probes = Probes()
        self.failures: list[DiskFailed] = []
        plan, count = PlannedListener("PLAINTEXT", "PLAINTEXT", "", 0, None), ConnectionCount(Descriptors(100_000))
        shared = Shared(self.loop, self.echo, self.probes, None, self.failures.append, count, 100 * MIB)
        self.listener = Listener(plan, shared, Budget(buffer_bytes_max), ROOMY._replace(**limits))

    def connect(self) -> tuple[Connection, Wire]:
        connection, wire = Connection(self.listener), Wire()
        connection.connection_made(wire)
        return connection, wire


@pytest.fixture
def room() -> Room:
    return Room()


def framed(content: bytes) -> bytes:
    return struct.pack(">i", len(content)) + content


def feed(connection: Connection, wire: Wire, content: bytes, piece: int = 1 << 30) -> int:
    """Delivers bytes as a loop would, as many at a time as the connection has room for; how many it let in."""
    fed = 0
    while fed < len(content) and not wire.is_paused and not wire.is_aborted:
        buffer = connection.get_buffer(-1)
        assert len(buffer) > 0, "asked to receive into a full buffer"
        chunk = content[fed : fed + min(piece, len(buffer))]
        buffer[: len(chunk)] = chunk
        connection.buffer_updated(len(chunk))
        fed += len(chunk)
    return fed


def lose(connection: Connection) -> None:
    connection.connection_lost(None)


@pytest.mark.parametrize("piece", [1, 2, 3, 5, 7, 4096, 1 << 30])
def test_frames_come_out_whole_however_they_come_in(room: Room, piece: int) -> None:
    connection, wire = room.connect()
    contents = [b"a", b"bc" * 50, b"d" * 5000, b"e"]
    feed(connection, wire, b"".join(map(framed, contents)), piece)
    room.loop.run_ready()
    assert wire.written == b"".join(contents)


@pytest.mark.parametrize("size", [0, -1, -(1 << 31), 100 * MIB + 1, (1 << 31) - 1])
def test_a_size_that_cannot_be_closes_the_connection(room: Room, size: int) -> None:
    connection, wire = room.connect()
    feed(connection, wire, struct.pack(">i", size))
    assert wire.is_aborted
    assert room.probes.peer_errors == 1
    assert room.echo.frames == []


def test_a_claim_costs_nothing(room: Room) -> None:
    connection, wire = room.connect()
    feed(connection, wire, struct.pack(">i", 90 * MIB) + b"x" * 1000)
    assert room.listener.budget.used == 0
    assert connection.frames.capacity == SMALL_BUFFER


def test_the_buffer_grows_with_what_arrives_and_is_given_back_when_idle(room: Room) -> None:
    connection, wire = room.connect()
    feed(connection, wire, struct.pack(">i", 90 * MIB) + b"x" * MIB, 65536)
    assert MIB <= connection.frames.capacity <= 4 * MIB
    assert room.listener.budget.used == connection.frames.capacity - SMALL_BUFFER
    feed(connection, wire, b"x" * (89 * MIB), MIB)
    assert len(room.echo.frames) == 1
    room.loop.pass_time(5.0)
    room.listener.sweep()
    assert room.listener.budget.used == 0
    assert connection.frames.capacity == SMALL_BUFFER


def test_many_small_requests_at_once_are_read_in_larger_pieces_while_there_is_memory_to_spare() -> None:
    requests = framed(b"x" * 90) * 1000
    roomy, tight = Room(), Room(buffer_bytes_max=PIPELINE_BUFFER)
    for room, capacity in ((roomy, PIPELINE_BUFFER), (tight, SMALL_BUFFER)):
        connection, wire = room.connect()
        fed = 0
        while fed < len(requests):
            fed += feed(connection, wire, requests[fed:])
            room.loop.run_ready()
        assert wire.written == b"x" * 90_000
        assert room.listener.budget.used == capacity - SMALL_BUFFER
        room.loop.pass_time(2 * KEEP_BUFFER_SECONDS)
        room.listener.sweep()
        assert room.listener.budget.used == 0
        lose(connection)


def test_a_connection_that_is_lost_in_mid_frame_gives_its_bytes_back(room: Room) -> None:
    connection, wire = room.connect()
    feed(connection, wire, struct.pack(">i", 50 * MIB) + b"x" * (10 * MIB), MIB)
    assert room.listener.budget.used > 0
    lose(connection)
    assert room.listener.budget.used == 0
    assert not room.listener.connections


def test_over_the_budget_one_finishes_after_the_other() -> None:
    room = Room(buffer_bytes_max=4 * MIB)
    peers = [room.connect() for _ in range(8)]
    frame = framed(b"x" * (2 * MIB))
    sent = [0] * len(peers)
    for _ in range(1000):
        for number, (connection, wire) in enumerate(peers):
            sent[number] += feed(connection, wire, frame[sent[number] : sent[number] + 65536])
        room.loop.run_ready()
        room.loop.pass_time(0.02)
        assert room.listener.budget.used <= 4 * MIB + 2 * MIB + 65536
    assert sent == [len(frame)] * len(peers)
    assert len(room.echo.frames) == len(peers)


def test_a_buffer_kept_for_the_next_frame_is_given_up_for_who_waits() -> None:
    room = Room(buffer_bytes_max=4 * MIB)
    idle = [room.connect() for _ in range(2)]
    for connection, wire in idle:
        feed(connection, wire, framed(b"x" * (2 * MIB)), 65536)
    newcomer, wire = room.connect()
    frame = framed(b"y" * (3 * MIB))
    sent = feed(newcomer, wire, frame, 65536)
    room.loop.pass_time(1.0)
    feed(newcomer, wire, frame[sent:], 65536)
    assert len(room.echo.frames) == 3


def test_a_slow_frame_is_closed_only_when_others_wait_for_its_memory() -> None:
    room = Room(buffer_bytes_max=MIB)
    slow, slow_wire = room.connect()
    feed(slow, slow_wire, struct.pack(">i", 50 * MIB) + b"x" * (2 * MIB), 65536)
    for _ in range(10):
        room.loop.pass_time(10.0)
        feed(slow, slow_wire, b"x")
        room.listener.sweep()
    assert not slow_wire.is_aborted
    other, other_wire = room.connect()
    feed(other, other_wire, framed(b"y" * MIB), 65536)
    room.listener.sweep()
    assert slow_wire.is_aborted
    assert not other_wire.is_aborted


def test_half_a_frame_and_then_nothing(room: Room) -> None:
    connection, wire = room.connect()
    feed(connection, wire, framed(b"x" * 100)[:50])
    room.loop.pass_time(29.0)
    room.listener.sweep()
    assert not wire.is_aborted
    room.loop.pass_time(2.0)
    room.listener.sweep()
    assert wire.is_aborted
    assert room.probes.peer_errors == 1


def test_silence_is_closed_after_its_time_and_a_waiting_reply_is_no_silence(room: Room) -> None:
    room.echo.owes = True
    (silent, silent_wire), (waiting, waiting_wire) = room.connect(), room.connect()
    feed(waiting, waiting_wire, framed(b"long poll"))
    room.loop.pass_time(601.0)
    room.listener.sweep()
    assert silent_wire.is_aborted
    assert not waiting_wire.is_aborted
    lose(silent)


def test_replies_leave_in_the_order_of_requests(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.owes = True
    feed(connection, wire, framed(b"1") + framed(b"2"))
    room.echo.owes = False
    feed(connection, wire, framed(b"3"))
    first, second = room.echo.owed
    second.complete(b"2")
    room.loop.run_ready()
    assert wire.written == b""
    first.complete(b"1")
    room.loop.run_ready()
    assert wire.written == b"123"


def test_a_client_that_never_reads_is_not_read_from(room: Room) -> None:
    connection, wire = room.connect()
    wire.unsent_bytes = QUEUED_REPLY_BYTES_MAX + 1
    feed(connection, wire, framed(b"a") + framed(b"b"))
    assert wire.is_paused
    wire.unsent_bytes = 0
    connection.resume_writing()
    assert not wire.is_paused
    assert wire.written == b"ab"


def test_replies_that_wait_behind_another_are_bounded(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.owes = True
    feed(connection, wire, framed(b"long poll"))
    room.echo.owes, room.echo.reply_bytes = False, MIB
    while not wire.is_paused and len(room.echo.frames) < 100:
        feed(connection, wire, framed(b"more"))
        room.loop.run_ready()
    assert len(room.echo.frames) < 15
    room.echo.owed[0].complete(b"")
    room.loop.run_ready()
    assert not wire.is_paused
    assert connection.requests.held_bytes == 0


def test_a_client_may_owe_us_only_so_many_questions(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.owes = True
    while not wire.is_paused and len(room.echo.frames) < 2 * OWED_REPLIES_MAX:
        feed(connection, wire, framed(b"q"))
        room.loop.run_ready()
    assert len(room.echo.frames) == OWED_REPLIES_MAX
    for pending in room.echo.owed:
        pending.complete(b"a")
    room.loop.run_ready()
    assert not wire.is_paused
    assert wire.written == b"a" * OWED_REPLIES_MAX


def test_one_connection_does_not_take_the_turn_of_others(room: Room) -> None:
    busy, busy_wire = room.connect()
    other, other_wire = room.connect()
    feed(busy, busy_wire, framed(b"m") * 300)
    assert len(room.echo.frames) == TURN_FRAMES
    feed(other, other_wire, framed(b"o"))
    assert other_wire.written == b"o"
    room.loop.run_ready()
    assert busy_wire.written == b"m" * 300


def test_a_turn_of_large_replies_is_shorter(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.reply_bytes = MIB
    feed(connection, wire, framed(b"m") * 5)
    assert len(room.echo.frames) == 1
    room.loop.run_ready()
    assert len(room.echo.frames) == 5


def test_while_a_handler_waits_no_later_frame_is_decoded(room: Room) -> None:
    connection, wire = room.connect()
    gate = room.loop.create_future()
    connection.requests.run(until(gate))
    feed(connection, wire, framed(b"later"))
    assert room.echo.frames == []
    assert wire.is_paused
    gate.set_result(None)
    room.loop.run_ready()
    assert room.echo.frames == [b"later"]


async def until(future) -> None:
    await future


@pytest.mark.parametrize("error", [PeerError("nonsense"), ZeroDivisionError()])
def test_a_request_that_fails_costs_its_connection_only(room: Room, error: Exception) -> None:
    (connection, wire), (other, other_wire) = room.connect(), room.connect()
    room.echo.raises = error
    feed(connection, wire, framed(b"poison") + framed(b"next"))
    assert wire.is_aborted
    assert room.echo.frames == [b"poison"], "nothing is decoded after it"
    room.echo.raises = None
    feed(other, other_wire, framed(b"fine"))
    assert other_wire.written == b"fine"
    assert (room.probes.peer_errors, room.probes.handler_failures) == (
        (1, 0) if isinstance(error, PeerError) else (0, 1)
    )


def test_a_disk_that_fails_under_a_request_is_the_nodes_business(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.raises = DiskFailed("EIO")
    feed(connection, wire, framed(b"read"))
    assert room.failures == [room.echo.raises]


def test_while_draining_nothing_is_decoded_and_replies_leave(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.owes = True
    feed(connection, wire, framed(b"1"))
    room.listener.stop_reading()
    assert wire.is_paused
    room.echo.owed[0].complete(b"1")
    room.loop.run_ready()
    assert wire.written == b"1"
    assert wire.is_paused


def test_a_reply_for_a_connection_that_is_gone_is_dropped(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.owes = True
    feed(connection, wire, framed(b"1"))
    abandoned = []
    room.echo.owed[0].on_abandoned = lambda: abandoned.append(True)
    lose(connection)
    assert abandoned == [True]
    room.loop.run_ready()
    assert wire.written == b""


def test_too_many_of_one_address_are_refused_until_one_goes() -> None:
    room = Room(per_ip_max=2)
    opened = [room.connect() for _ in range(3)]
    assert [wire.is_aborted for _, wire in opened] == [False, False, True]
    lose(opened[0][0])
    assert not room.connect()[1].is_aborted
    room.listener.set_limits(ROOMY._replace(per_ip_max=1))
    assert room.connect()[1].is_aborted
    assert not opened[1][1].is_aborted


def test_too_many_connections_are_refused() -> None:
    room = Room(broker_max=2)
    wires = [room.connect()[1] for _ in range(3)]
    assert [wire.is_aborted for wire in wires] == [False, False, True]
    assert (room.probes.connections_open, room.probes.connections_refused) == (2, 1)


def test_a_connection_is_closed_when_all_that_was_read_is_answered(room: Room) -> None:
    connection, wire = room.connect()
    room.echo.owes = True
    feed(connection, wire, framed(b"one"))
    connection.close_when_answered()
    assert wire.is_paused, "nothing more is read"
    assert not wire.is_aborted
    room.echo.owed[0].complete(b"answer")
    room.loop.run_ready()
    assert wire.written == b"answer"
    assert wire.is_aborted


def test_a_connection_that_owes_nothing_is_closed_at_once(room: Room) -> None:
    connection, wire = room.connect()
    connection.close_when_answered()
    assert wire.is_aborted


def test_a_connection_is_closed_when_its_peer_has_read_its_answers(room: Room) -> None:
    connection, wire = room.connect()
    wire.unsent_bytes = 1000
    connection.close_when_answered()
    assert not wire.is_aborted
    wire.unsent_bytes = 0
    room.listener.sweep()
    assert wire.is_aborted
