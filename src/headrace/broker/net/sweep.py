"""The sweep over connections, every second or so: who has been silent too long goes, buffers not in use are taken back."""

from collections.abc import Iterable
from typing import Final

from headrace.broker.net.connection import Connection

# A frame that was begun is to be whole by then.
FRAME_SECONDS_MAX: Final = 30.0
# A large buffer is kept for the next frame this long; less when others wait for room.
KEEP_BUFFER_SECONDS: Final = 2.0


def sweep(connections: Iterable[Connection], now: float, idle_seconds_max: float) -> None:
    for connection in connections:
        if _is_slow(connection, now):
            connection.close_bad_peer(f"a frame was begun and not finished in {FRAME_SECONDS_MAX:.0f} s")
        elif now > connection.login_by:
            connection.close_bad_peer("nobody logged in in time (sasl.server.login.timeout.ms)")
        elif connection.requests.are_answered and now - connection.frames.last_received > idle_seconds_max:
            connection.close()
        else:
            connection.end_if_answered()
            take_back([connection], now - KEEP_BUFFER_SECONDS)


def take_back(connections: Iterable[Connection], silent_since: float) -> None:
    """Takes back large buffers of those that have sent nothing since."""
    for connection in connections:
        if not _is_mid_frame(connection):
            connection.frames.shrink_if_silent(silent_since)


def _is_slow(connection: Connection, now: float) -> bool:
    frames = connection.frames
    # A frame that comes slowly does no harm, unless its memory is what others wait for.
    since = frames.frame_since if frames.budget.is_waited_for else frames.last_received
    return _is_mid_frame(connection) and now - since > FRAME_SECONDS_MAX


def _is_mid_frame(connection: Connection) -> bool:
    """The rest of a frame is for the peer to send: nothing of ours holds it back."""
    return connection.frames.holds_bytes and not connection.is_paused
