"""The one way in which a test on real processes waits: look again until it holds, or fail and say what was seen."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable
from inspect import isawaitable
from typing import TypeVar

SECONDS = 60.0
BETWEEN_SECONDS = 0.03

Found = TypeVar("Found")


def until(
    look: Callable[[], Found],
    holds: Callable[[Found], object] = bool,
    seconds: float = SECONDS,
    otherwise: str | Callable[[], object] = "it did not come true",
) -> Found:
    """What `look` returns as soon as that holds. `otherwise` says what is wrong when it never does."""
    deadline = time.monotonic() + seconds
    while not holds(found := look()):
        if time.monotonic() > deadline:
            said = otherwise if isinstance(otherwise, str) else otherwise()
            raise AssertionError(f"{said}; after {seconds:g} s: {found!r}")
        time.sleep(BETWEEN_SECONDS)
    return found


def collected(
    take: Callable[[], Iterable[Found]], is_enough: Callable[[list[Found]], object], seconds: float = SECONDS
) -> list[Found]:
    """Everything that `take` returned, call after call, as soon as that is enough."""
    found: list[Found] = []

    def look() -> list[Found]:
        found.extend(take())
        return found

    return until(look, is_enough, seconds)


async def until_async(look: Callable[[], object | Awaitable[object]], seconds: float = SECONDS) -> None:
    """The same on an event loop, for conditions that other tasks bring about, or that are asked for."""
    async with asyncio.timeout(seconds):
        while not await _seen(look()):  # noqa: ASYNC110
            await asyncio.sleep(BETWEEN_SECONDS)


async def _seen(found: object) -> object:
    return await found if isawaitable(found) else found
