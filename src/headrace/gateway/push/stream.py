"""What a connection pushes: blocks, one after the other, until an exception says why there are no more."""

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
        """What comes next, when it comes; None when it is time for a sign of life. Raises one of ENDS."""


@contextmanager
def cut_when_over(stream: Stream, gone: Coroutine[Any, Any, None]) -> Iterator["asyncio.Task[None]"]:
    """What is done within is cancelled when the client has gone, or when the stream asks for it; what comes after is not."""
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
