"""The thread for those parts of logins that take milliseconds, so that the event loop never waits for a password.

A flood of logins at a listener gets one thread's work and no more; whoever comes while too many wait is cut off, and comes
again.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from headrace.base.errors import PeerError

LOGINS_WAITING_MAX: Final = 500

T = TypeVar("T")


class LoginWork:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._thread = ThreadPoolExecutor(1, "login")
        self._waiting = 0

    async def do(self, call: Callable[[], T]) -> T:
        if self._waiting >= LOGINS_WAITING_MAX:
            raise PeerError(f"{LOGINS_WAITING_MAX} logins wait already")
        self._waiting += 1
        try:
            return await self._loop.run_in_executor(self._thread, call)
        finally:
            self._waiting -= 1

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
