"""The buffer of a connection: bytes come in, whole frames come out.

It grows with the bytes that really arrive, within a budget, never with the length that a frame claims, and is used again
for the next frame: what a frame is a view of changes with the next one.
"""

from collections.abc import Callable
from struct import Struct
from typing import Final, Protocol

from headrace.broker.net.budget import Budget

SMALL_BUFFER: Final = 4096
# For a client that sends many small requests without waiting: one read and one send for all that has come.
PIPELINE_BUFFER: Final = 32768
_LENGTH: Final = Struct(">i")


class Receiver(Protocol):
    def read_frames(self) -> None:
        """Takes frames again: there is room for more now."""

    def close_bad_peer(self, cause: str) -> None: ...


class FrameBuffer:
    """The bytes held are those from `start` to `end`; what comes is written into the view from there on."""

    __slots__ = (
        "_receiver",
        "_reclaim",
        "budget",
        "end",
        "frame_bytes_max",
        "frame_since",
        "last_received",
        "limited_by",
        "start",
        "view",
        "waits_for_budget",
    )

    def __init__(
        self, receiver: Receiver, budget: Budget, frame_bytes_max: int, reclaim: Callable[[], None], now: float
    ) -> None:
        """`reclaim` asks others to give back what they do not use."""
        self.budget = budget
        self.frame_bytes_max = frame_bytes_max
        self.limited_by = "socket.request.max.bytes"
        self.view = memoryview(bytearray(SMALL_BUFFER))
        self.start = self.end = 0
        self.waits_for_budget = False
        self.last_received = self.frame_since = now
        self._receiver = receiver
        self._reclaim = reclaim

    def next(self) -> memoryview | None:
        """The next frame, if it is whole; otherwise there is room for more of it, or will be."""
        available = self.end - self.start
        if available < 4:
            self._make_room(4)
            return None
        (size,) = _LENGTH.unpack_from(self.view, self.start)
        if not 0 < size <= self.frame_bytes_max:
            self._receiver.close_bad_peer(
                f"frame of {size} bytes; allowed are 1 to {self.frame_bytes_max} ({self.limited_by})"
                f"{_other_protocol(self.view[self.start : self.start + 4])}"
            )
            return None
        if available < 4 + size:
            self._make_room(4 + size)
            return None
        begin = self.start + 4
        self.start = begin + size
        self.frame_since = self.last_received
        return self.view[begin : begin + size]

    @property
    def holds_bytes(self) -> bool:
        return self.end > self.start

    @property
    def capacity(self) -> int:
        return len(self.view)

    def shrink(self) -> None:
        """Give back what a large buffer has beyond the bytes in it. Before more is received, there must be room again."""
        extra = len(self.view) - max(SMALL_BUFFER, self.end - self.start)
        if extra > 0:
            self._move_to(memoryview(bytearray(len(self.view) - extra)))
            self.budget.give_back(extra, self)

    def shrink_if_silent(self, since: float) -> None:
        if self.last_received <= since and not self.waits_for_budget:
            self.shrink()

    def move_to_budget(self, budget: Budget) -> None:
        """Counts its bytes in another budget from here on."""
        self.shrink()
        held = len(self.view) - SMALL_BUFFER
        self.budget.give_back(held, self)
        self.budget = budget
        budget.take_anyway(held)

    def on_budget(self) -> None:
        if self.waits_for_budget:
            self.waits_for_budget = False
            self._receiver.read_frames()

    def close(self) -> None:
        self.start = self.end = 0
        self.waits_for_budget = False
        self.budget.forget(self)
        self.shrink()

    def _make_room(self, frame_bytes: int) -> None:
        """Have space to receive more of a frame of this size: doubling as bytes arrive, so a claim costs nothing."""
        if self.start and self.budget.is_contended:
            # Between two frames is the moment to queue up for room like everybody else.
            self.shrink()
        held = self.end - self.start
        capacity = len(self.view)
        is_pipelined = self.start > 0 and self.end == capacity < PIPELINE_BUFFER
        if is_pipelined and self.budget.take_spare(PIPELINE_BUFFER - capacity):
            self._move_to(memoryview(bytearray(PIPELINE_BUFFER)))
            return
        if self.start + frame_bytes <= capacity and held:
            return
        fresh = self.view
        if frame_bytes > capacity and held * 2 > capacity:
            wanted = min(frame_bytes, max(2 * capacity, 65536))
            if not self.budget.take(wanted - capacity, self):
                self.waits_for_budget = True
                self._reclaim()
                return
            fresh = memoryview(bytearray(wanted))
        self._move_to(fresh)

    def _move_to(self, fresh: memoryview) -> None:
        """Moves the bytes held to the front of `fresh`, which may be the view that they are in."""
        held = self.end - self.start
        fresh[:held] = self.view[self.start : self.end]
        self.view = fresh
        self.start, self.end = 0, held


def _other_protocol(first: memoryview) -> str:
    """A guess at the protocol of a client that came to the wrong port."""
    start = bytes(first)
    if start in (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI"):
        return ": this is HTTP, and this port speaks Kafka"
    if start[:2] == b"\x16\x03":
        return ": this is TLS, and this listener is plain (security.protocol=PLAINTEXT)"
    return ""
