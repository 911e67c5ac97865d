"""One thread for calls that block in native code, each with a deadline: what keeps a database off the event loop.

Calls run one after the other, in order. A call that is not answered in time raises `StoreUnreachable`; if it had begun,
it goes on in its thread and its outcome is unknown, otherwise it never runs.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, ParamSpec, TypeVar

from headrace.base.errors import StoreUnreachable

WAITING_MAX: Final = 1_000

_Args = ParamSpec("_Args")
_Answer = TypeVar("_Answer")


class Lane:
    def __init__(self, name: str, deadline_s: float) -> None:
        self._name = name
        self._deadline_s = deadline_s
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._waiting = 0
        self._closed = False

    async def run(self, call: Callable[_Args, _Answer], *args: _Args.args, **named: _Args.kwargs) -> _Answer:
        if self._closed:
            raise StoreUnreachable(f"{self._name} is closed")
        if self._waiting >= WAITING_MAX:
            raise StoreUnreachable(f"{self._name} has {self._waiting} calls waiting")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._deadline_s):
                return await asyncio.wrap_future(self._thread.submit(call, *args, **named))
        except TimeoutError:
            raise StoreUnreachable(f"{self._name} did not answer within {self._deadline_s:g} s") from None
        finally:
            self._waiting -= 1

    async def close(self, last_call: Callable[[], None]) -> None:
        if self._closed:
            return
        try:
            await self.run(last_call)
        finally:
            self._closed = True
            self._thread.shutdown(wait=False)
