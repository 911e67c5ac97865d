"""The simulated world: hosts with brokers, a network, a store, clients, one seed and one virtual clock for all of it.

The same seed gives the same world, step by step: `digest` sums up everything that happened, and two runs that differ in
it differ because something in the code looked at an address, a real clock or a thread. Does not decide what goes wrong
(`storm`) or what is right (`checks`).
"""

import asyncio
import logging
import warnings
import zlib
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any

from headrace.base.errors import StoreUnreachable
from headrace.cluster.broker_settings import settings_for
from headrace.cluster.store import Entry, LeaseHeld, LeaseLost
from headrace.stores.memory import MemoryShelf
from sim.host import Host, SimClock
from sim.loop import Agenda, HostLoop
from sim.network import Network
from sim.slow_store import SlowCommits
from sim.transport import End

RESTART_SECONDS = (0.2, 1.0)
# What may make a broker give up and be started anew; anything else is a bug that the storm has found.
EXPECTED_EXITS = (StoreUnreachable, LeaseHeld, LeaseLost)


class World:
    def __init__(self, seed: str, brokers: int, overrides: Mapping[str, str], verbose: bool = False) -> None:
        self.seed = seed
        # As `headrace up` starts so many brokers: internal topics have their replicas too.
        self.overrides = {**settings_for(brokers), **overrides}
        self.agenda = Agenda()
        self.network = Network(self.agenda, self.rng("network"))
        self.network.on_arrival = self._on_arrival
        self.shelf = MemoryShelf()
        self.slow_commits = SlowCommits(self.agenda)
        self.store_clock = SimClock(self.agenda, "store")
        self.loops: list[HostLoop] = []
        self.hosts = [Host(self, number, self.rng(f"host {number}")) for number in range(1, brokers + 1)]
        self.digest = 0
        self.bugs: list[str] = []
        self.lines: list[str] = []
        self.on_death: Callable[[Host], None] = lambda host: None
        self._verbose = verbose
        self._rng = self.rng("world")

    def rng(self, purpose: str) -> Random:
        """A stream of chance for each purpose: more of one does not change the others."""
        return Random(f"{self.seed}/{purpose}")

    # -- what happened ---------------------------------------------------------------------------------------------

    def say(self, who: str, what: str) -> None:
        line = f"{self.agenda.now:10.6f}  {who:10} {what}"
        self.digest = zlib.crc32(line.encode(), self.digest)
        self.lines.append(line)
        if self._verbose:
            print(line, flush=True)

    def _on_arrival(self, end: End, chunk: bytes) -> None:
        self.digest = zlib.crc32(chunk, self.digest ^ int(self.agenda.now * 1e9) & 0xFFFFFFFF)

    def on_loop_error(self, loop: HostLoop, context: dict[str, Any]) -> None:
        if loop.is_dead:
            return
        error = context.get("exception")
        self.bug(f"{loop.name}: {context.get('message')}: {describe(error)}")

    def bug(self, text: str) -> None:
        self.say("bug", text)
        self.bugs.append(text)
        self.agenda.stopped = True

    # -- clients and brokers ---------------------------------------------------------------------------------------

    def client_loop(self, name: str) -> HostLoop:
        rng = self.rng(name)
        loop = HostLoop(
            name,
            f"10.0.1.{len(self.loops) + 1}",
            self.agenda,
            self.network,
            lambda: 0.001,
            self.on_loop_error,
            rng.uniform(0, 1e6),
        )
        self.loops.append(loop)
        return loop

    def spawn(self, loop: HostLoop, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A client's task. One that fails is as good as a breach: what a broker sent made no sense to it."""
        task = loop.create_task(work)
        task.add_done_callback(lambda done: self._on_client_done(loop, done))
        return task

    def _on_client_done(self, loop: HostLoop, task: asyncio.Task[Any]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self.bug(f"{loop.name}: {describe(error)}")

    def start_all(self) -> None:
        for host in self.hosts:
            if not host.is_up:
                self.start(host)

    def start(self, host: Host) -> None:
        if not host.is_up:
            self.say(host.name, "starts")
            host.start()

    def kill(self, host: Host) -> None:
        self.say(host.name, "is killed")
        host.kill()

    def lose_power(self, host: Host) -> None:
        self.say(host.name, "loses power")
        host.lose_power()

    def stop(self, host: Host) -> None:
        """Cleanly, as SIGTERM does; it comes back by itself."""
        if host.is_serving and not host.loop.is_paused and host.node is not None:
            self.say(host.name, "is asked to stop")
            host.is_stopping = True
            host.loop.create_task(host.node.stop())

    def restore_store(self, revision: int, entries: Mapping[str, Entry]) -> None:
        """An older copy of the store takes its place, while nobody is up. What was on its way to it is lost, and so are
        leases."""
        assert not any(host.is_up for host in self.hosts)
        self.shelf = MemoryShelf()
        self.shelf.revision = revision
        self.shelf.entries = dict(entries)

    def pause(self, host: Host, seconds: float) -> None:
        if host.is_up and not host.loop.is_paused:
            self.say(host.name, f"stands still for {seconds:.2f} s")
            loop = host.loop
            loop.pause()
            self.agenda.after(seconds, self._resume, host, loop)

    def _resume(self, host: Host, loop: HostLoop) -> None:
        if loop.is_paused and not loop.is_dead:
            self.say(host.name, "goes on")
            loop.resume()

    def resume_all(self) -> None:
        for host in self.hosts:
            if host.is_up:
                self._resume(host, host.loop)

    def on_exit(self, host: Host, cause: BaseException | None) -> None:
        """Its broker stopped by itself: the process ends, and a supervisor starts another."""
        self.say(host.name, f"stopped: {describe(cause)}")
        host.kill()
        if cause is not None and not isinstance(cause, EXPECTED_EXITS) and not host.disk_was_hurt(cause):
            self.bug(f"{host.name} stopped: {describe(cause)}")
        self.agenda.after(self._rng.uniform(*RESTART_SECONDS), self.start, host)

    def end(self) -> None:
        with warnings.catch_warnings():
            # Of coroutines that nobody came to await: their host was dead by then.
            warnings.simplefilter("ignore", RuntimeWarning)
            for loop in self.loops:
                loop.bury()
            self.loops.clear()


def describe(error: BaseException | None) -> str:
    if error is None:
        return "cleanly"
    where = error.__traceback__
    places = []
    while where is not None:
        code = where.tb_frame.f_code
        places.append(f"{code.co_filename.rsplit('/', 1)[-1]}:{where.tb_lineno}")
        where = where.tb_next
    return f"{type(error).__name__}: {error} ({' > '.join(places[-12:])})"


class LogLines(logging.Handler):
    """The brokers' own log, as lines of the world's story."""

    def __init__(self, world: World) -> None:
        super().__init__(logging.INFO)
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        if record.exc_info and record.exc_info[1] is not None:
            text += f": {describe(record.exc_info[1])}"
        self._world.say(record.levelname.lower(), text)
