"""An event loop in a thread of its own, for code of Spark's that is not asynchronous: it sends while we compute.

One per process, made on first use and never stopped: Spark reuses its Python workers, and what is connected stays so.
"""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, name="headrace-loop", daemon=True).start()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The work has deadlines of its own."""
        return self.submit(work).result()


@cache
def loop_thread() -> LoopThread:
    return LoopThread()
