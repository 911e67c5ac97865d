"""Calls that block, made in a thread and awaited to their end."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import Any, TypeVar

Result = TypeVar("Result")


async def finished(
    pool: Executor, call: Callable[..., Result], *args: Any, spared: Callable[[Result], None] | None = None
) -> Result:
    """The result of a call that must not go on behind its caller's back.

    A caller that is cancelled goes on when the call has ended; a result that it cannot take any more is `spared`.
    """
    running = asyncio.get_running_loop().run_in_executor(pool, call, *args)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([running])
        if running.exception() is None and spared is not None:
            spared(running.result())
        raise
