"""An event loop in virtual time for unit tests, and a transport that only remembers what it was told."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import Any

from sim.loop import Agenda, HostLoop
from sim.network import Network

LONG = 1000.0


class QuietLoop(HostLoop):
    """Nothing runs before `run` or `pass_time`; an exception that nobody catches fails the test."""

    def __init__(self) -> None:
        agenda = Agenda()
        self.errors: list[Any] = []
        self.work_seconds = 0.0
        super().__init__(
            "test",
            "10.0.0.1",
            agenda,
            Network(agenda, Random(0)),
            lambda: self.work_seconds,
            lambda loop, context: self.errors.append(context),
        )

    def run_ready(self) -> None:
        """What is due now, and what that asks for in turn."""
        self.pass_time(0.0)

    def pass_time(self, seconds: float) -> None:
        self.agenda.run(seconds)
        assert not self.errors, self.errors

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """The result of `work`, in as much virtual time as it takes."""
        task = self.create_task(work)
        assert self.agenda.run(LONG, until=task.done), "it waits for something that never comes"
        return task.result()


class Wire(asyncio.Transport):
    """What a connection did with its transport."""

    def __init__(self) -> None:
        super().__init__({"peername": ("10.0.0.9", 1234)})
        self.written = b""
        self.unsent_bytes = 0
        self.is_paused = False
        self.is_aborted = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def get_write_buffer_size(self) -> int:
        return self.unsent_bytes

    def pause_reading(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_reading(self) -> None:
        assert self.is_paused
        self.is_paused = False

    def abort(self) -> None:
        self.is_aborted = True

    def is_closing(self) -> bool:
        return self.is_aborted
