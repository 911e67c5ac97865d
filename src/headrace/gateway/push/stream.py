"""The stream of blocks that a connection pushes, until an exception says why there are no more."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import orjson

from headrace.gateway.problem import EXPECTED, Problem, problem_of
from headrace.gateway.push.block import Block


class Ended(Exception):
    """The gateway lets this listener go, and why."""


ENDS = (Ended, *EXPECTED)


class Stream(Protocol):
    on_end: Callable[[], object]
    """Called when the connection takes nothing any more, to cut it."""

    async def next(self) -> Block | None:
        """The next block, once there is one; None when a sign of life is due. Raises one of ENDS."""


@contextmanager
def cut_when_over(stream: Stream, gone: Coroutine[Any, Any, None]) -> Iterator["asyncio.Task[None]"]:
    """Cancels the work inside when the client has gone, or when the stream asks for it; later work of the task goes on."""
    writing, within = asyncio.current_task(), True
    assert writing is not None

    def cut(_: object = None) -> None:
        if within:
            writing.cancel()

    watching = asyncio.create_task(gone)
    watching.add_done_callback(cut)
    stream.on_end = cut
    try:
        yield watching
    finally:
        within = False
        watching.cancel()


def farewell(error: Exception) -> bytes:
    """The last thing that a listener is told, as JSON."""
    return orjson.dumps(_problem(error).fields())


def _problem(error: Exception) -> Problem:
    if isinstance(error, Ended):
        return Problem(503, "Stream ended", str(error), "come back with the id of the last event")
    return problem_of(error)
