"""The one way in which a test on real processes waits: look again until it holds, or fail and say what was seen."""

import asyncio
import time
from collections.abc import Callable
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


async def until_async(look: Callable[[], object], seconds: float = SECONDS) -> None:
    """The same on an event loop, for conditions that other tasks bring about."""
    async with asyncio.timeout(seconds):
        while not look():  # noqa: ASYNC110
            await asyncio.sleep(BETWEEN_SECONDS)
