"""Virtual time: one agenda for a whole simulated world, and an asyncio event loop for each host in it.

    Agenda      what happens next, at which virtual moment; time jumps to the next timer when nothing is ready
    HostLoop    asyncio's loop as the code of one host sees it: its callbacks run, wait (paused) or are lost (dead)

One loop a host, not one for all: a pause or a crash of a host is then a pause or an end of its loop, and whatever other
hosts wake in it (a future, a watcher) is held back or lost with it. Callbacks of the same moment run in the order they
were asked for, as asyncio promises; chance comes in only through latencies, all from one seed. No threads: what is given
to an executor runs at its end, on the agenda. Sockets are `network`'s part.
"""

import asyncio
import heapq
from asyncio.events import _set_running_loop
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sim.network import Network

STEPS_PER_MOMENT_MAX = 200_000
HUNG_LOOK_SECONDS = 0.05

OnError = Callable[["HostLoop", dict[str, Any]], None]


class Entry:
    """A callback on the agenda: what asyncio calls a handle."""

    __slots__ = ("args", "callback", "context", "loop", "moment")

    def __init__(
        self, loop: "HostLoop | None", callback: Callable[..., Any], args: Any, context: Context | None, moment: float
    ) -> None:
        self.loop = loop
        self.callback: Callable[..., Any] | None = callback
        self.args = args
        self.context = context
        self.moment = moment

    def cancel(self) -> None:
        self.callback = None
        self.args = ()

    def cancelled(self) -> bool:
        return self.callback is None

    def when(self) -> float:
        return self.moment if self.loop is None else self.moment + self.loop.time() - self.loop.agenda.now


class Agenda:
    def __init__(self) -> None:
        self.now = 0.0
        self.steps = 0
        self.stopped = False
        self.ready: deque[Entry] = deque()
        self._later: list[tuple[float, int, Entry]] = []
        self._order = 0

    def soon(self, callback: Callable[..., Any], *args: Any) -> Entry:
        """The world's own doing: it belongs to no host, so nothing holds it back."""
        entry = Entry(None, callback, args, None, self.now)
        self.ready.append(entry)
        return entry

    def after(self, seconds: float, callback: Callable[..., Any], *args: Any) -> Entry:
        return self.add(Entry(None, callback, args, None, self.now + seconds))

    def add(self, entry: Entry) -> Entry:
        self._order += 1
        heapq.heappush(self._later, (entry.moment, self._order, entry))
        return entry

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """For so long, or until something is true (looked at whenever time is about to pass); whether it became so."""
        end = self.now + seconds
        while not self.stopped:
            busy = self.steps + STEPS_PER_MOMENT_MAX
            while self.ready and not self.stopped:
                self._step(self.ready.popleft())
                assert self.steps < busy, f"somebody keeps busy without letting time pass: {self.ready[0].callback!r}"
            if until is not None and until():
                return True
            if not self._later or self._later[0][0] > end:
                self.now = max(self.now, end)
                return False
            self._take_next()
        return False

    def _take_next(self) -> None:
        moment, _, entry = heapq.heappop(self._later)
        if moment > self.now:
            self.now = moment
        self.ready.append(entry)
        # All of one moment become ready together, before what they ask for in turn.
        while self._later and self._later[0][0] <= self.now:
            self.ready.append(heapq.heappop(self._later)[2])

    def _step(self, entry: Entry) -> None:
        if entry.callback is None:
            return
        loop = entry.loop
        if loop is None:
            entry.callback(*entry.args)
            return
        if loop.is_dead:
            return
        if loop.is_paused:
            loop.backlog.append(entry)
            return
        self.steps += 1
        _set_running_loop(loop)
        try:
            if entry.context is None:
                entry.callback(*entry.args)
            else:
                entry.context.run(entry.callback, *entry.args)
        except Exception as error:
            loop.call_exception_handler({"message": f"in {entry.callback!r}", "exception": error})
        finally:
            _set_running_loop(None)


class HostLoop(asyncio.AbstractEventLoop):
    def __init__(
        self,
        name: str,
        address: str,
        agenda: Agenda,
        network: "Network",
        work_seconds: Callable[[], float],
        on_error: OnError,
        epoch: float = 0.0,
    ) -> None:
        self.name = name
        self.address = address
        self.is_dead = False
        self.is_paused = False
        self.paused_at = self.resumed_at = -1.0
        self.backlog: deque[Entry] = deque()
        self.tasks: dict[asyncio.Task[Any], None] = {}
        self.agenda = agenda
        self._network = network
        self._work_seconds = work_seconds
        self._on_error = on_error
        # Where this loop's clock started: nobody else's, so that code which compares two clocks is found out.
        self._epoch = epoch
        self.hung: Callable[[], bool] = bool
        """Whether work that was given to a thread stands still now, though its time has come."""

    # -- the world's side ------------------------------------------------------------------------------------------

    def pause(self) -> None:
        self.is_paused = True
        self.paused_at = self.agenda.now

    def resume(self) -> None:
        if self.is_paused:
            self.is_paused = False
            self.resumed_at = self.agenda.now
            self.agenda.ready.extend(self.backlog)
            self.backlog.clear()

    def die(self) -> None:
        """Nothing of it runs any more. Its tasks stay as they are, so that no `finally` does what a crash would not."""
        self.is_dead = True
        self.backlog.clear()

    def bury(self) -> None:
        """After the run: take the tasks apart in their order, before the garbage collector would in its own."""
        self.die()
        for task in self.tasks:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
            coroutine: Any = task.get_coro()
            for _ in range(5):
                try:
                    coroutine.close()
                    break
                except Exception:
                    continue
        self.tasks.clear()

    # -- asyncio's side --------------------------------------------------------------------------------------------

    def time(self) -> float:
        return self.agenda.now + self._epoch

    def call_soon(self, callback: Any, *args: Any, context: Context | None = None) -> Any:
        entry = Entry(self, callback, args, context, self.agenda.now)
        if not self.is_dead:
            self.agenda.ready.append(entry)
        return entry

    call_soon_threadsafe = call_soon

    def call_later(self, delay: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self._at(self.agenda.now + max(0.0, delay), callback, args, context)

    def call_at(self, when: float, callback: Any, *args: Any, context: Context | None = None) -> Any:
        return self._at(max(when - self._epoch, self.agenda.now), callback, args, context)

    def _at(self, moment: float, callback: Any, args: Any, context: Context | None) -> Entry:
        entry = Entry(self, callback, args, context, moment)
        if not self.is_dead:
            self.agenda.add(entry)
        return entry

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, Any], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[Any]:
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        self.tasks[task] = None
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[Any]) -> None:
        self.tasks.pop(task, None)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]
        """The work is done at its end: a sync took its snapshot when it was made, and lands now or never."""
        future = self.create_future()
        self.call_later(self._work_seconds(), self._work, future, func, args)
        return future

    def _work(self, future: asyncio.Future[Any], func: Callable[..., Any], args: tuple[Any, ...]) -> None:
        if self.hung():
            self.call_later(HUNG_LOOK_SECONDS, self._work, future, func, args)
            return
        try:
            result = func(*args)
        except Exception as error:
            if not future.cancelled():
                future.set_exception(error)
            return
        if not future.cancelled():
            future.set_result(result)

    async def create_server(self, factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:  # type: ignore[override]
        server = self._network.bind(self, factory, str(host), int(port))
        if options.get("start_serving", True):
            await server.start_serving()
        return server

    async def create_connection(self, factory: Any, host: Any = None, port: Any = None, **options: Any) -> Any:  # type: ignore[override]
        return await self._network.connect(self, factory, str(host), int(port))

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self._on_error(self, context)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return self.is_dead
