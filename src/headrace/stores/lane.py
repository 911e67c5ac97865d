"""One thread for calls that block in native code, each with a deadline: it keeps a database off the event loop.

Calls run one after the other, in order. A call that is not answered in time raises `StoreUnreachable`; if it had begun,
it goes on in its thread and its outcome is unknown, otherwise it never runs.

Between calls the thread looks for news by itself, and bothers the event loop only when there are some: asking through
the loop would wake two threads for every question, and the answer is nearly always no.
"""

import asyncio
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from headrace.base.errors import StoreUnreachable

WAITING_MAX: Final = 1_000

_Args = ParamSpec("_Args")
_Answer = TypeVar("_Answer")
_Job = tuple["Future[Any]", Callable[[], Any]]


class StoreLane:
    def __init__(self, name: str, deadline_s: float, poll_s: float) -> None:
        self._name = name
        self._deadline_s = deadline_s
        self._poll_s = poll_s
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._look: Callable[[], bool] | None = None
        self._watchers: dict[asyncio.Event, None] = {}
        self._waiting = 0
        self._closed = False
        # A daemon thread: a disk that never answers must not keep the process from ending.
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    async def run(self, call: Callable[_Args, _Answer], *args: _Args.args, **named: _Args.kwargs) -> _Answer:
        if self._closed:
            raise StoreUnreachable(f"{self._name} is closed")
        if self._waiting >= WAITING_MAX:
            raise StoreUnreachable(f"{self._name} has {self._waiting} calls waiting")
        future: Future[_Answer] = Future()
        self._jobs.put((future, partial(call, *args, **named)))
        self._waiting += 1
        try:
            async with asyncio.timeout(self._deadline_s):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise StoreUnreachable(f"{self._name} did not answer within {self._deadline_s:g} s") from None
        finally:
            self._waiting -= 1

    def look_with(self, look: Callable[[], bool]) -> None:
        """Has the thread call `look` about every `poll_s` while anyone watches; true wakes the watchers."""
        self._look = look

    def add_watcher(self, woken: asyncio.Event) -> None:
        self._watchers[woken] = None
        self._jobs.put((Future(), _nothing))  # The thread may be waiting without a time-out.

    def remove_watcher(self, woken: asyncio.Event) -> None:
        self._watchers.pop(woken, None)

    def wake(self) -> None:
        for woken in self._watchers:
            woken.set()

    async def close(self, last_call: Callable[[], None]) -> None:
        if self._closed:
            return
        try:
            await self.run(last_call)
        finally:
            self._closed = True
            self._jobs.put(None)
            self.wake()

    def _serve(self) -> None:
        looked = time.monotonic()
        while True:
            try:
                job = self._jobs.get(timeout=self._poll_s if self._watchers else None)
            except queue.Empty:
                job = (Future(), _nothing)
            if job is None:
                return
            _do(*job)
            if self._watchers and time.monotonic() - looked >= self._poll_s:
                self._look_for_news()
                looked = time.monotonic()

    def _look_for_news(self) -> None:
        try:
            news = self._look is not None and self._look()
        except Exception:
            # The watchers find out by themselves, on a call of their own that has someone to raise it to.
            news = True
        if news:
            try:
                self._loop.call_soon_threadsafe(self.wake)
            except RuntimeError:
                # The loop has ended, and nobody watches any more.
                return


def _do(future: "Future[Any]", call: Callable[[], Any]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        answer = call()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(answer)


def _nothing() -> None:
    pass
