"""Some coroutines at a time, with their answers in order; the first that fails ends the others."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def in_turns(work: Sequence[Coroutine[Any, Any, T]], at_once: int) -> list[T]:
    places = asyncio.Semaphore(at_once)

    async def one(each: Coroutine[Any, Any, T]) -> T:
        async with places:
            return await each

    tasks = [asyncio.ensure_future(one(each)) for each in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for each in work:
            # Of those that never began; nothing to the others.
            each.close()
