"""A client of another kind beside the ledger's load: it works in a thread through the storm and is judged in the calm.

    prepare   topics are made, before the storm
    turn      one piece of work, again and again; brokers may die, freeze and come back in the midst of it
    finish    the storm is over: what was begun is brought to its end
    check     every broken promise in words; an empty list when all were kept

Errors of brokers that are away are the guest's to bear; any other exception is a failure of the storm.
"""

import sys
import threading
import traceback
from abc import ABC, abstractmethod
from random import Random

from chaos.cluster import Cluster

JOIN_SECONDS = 30.0


class Guest(ABC):
    threads = 1

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.stopping = threading.Event()
        self.lock = threading.Lock()
        self.done = 0
        """Pieces of work that were acknowledged: a guest that did nothing would pass every broker."""
        self.rng = Random(1)
        self._running: list[threading.Thread] = []

    @property
    def name(self) -> str:
        return type(self).__name__

    def begin(self, cluster: Cluster, rng: Random) -> None:
        self.cluster = cluster
        self.rng = Random(rng.random())
        self.prepare()
        self._running = [
            threading.Thread(target=self._run, args=(number,), name=f"{self.name}-{number}", daemon=True)
            for number in range(self.threads)
        ]
        for thread in self._running:
            thread.start()

    def end(self) -> None:
        """In the calm; returns when all work is done."""
        self.finish()
        self.abandon()
        if not self.done:
            self.failures.append(f"{self.name}: did nothing in the whole storm")

    def abandon(self) -> None:
        self.stopping.set()
        for thread in self._running:
            thread.join(JOIN_SECONDS)
            if thread.is_alive():
                self.failures.append(f"{thread.name} hangs:\n{_stack_of(thread)}")
        self._running.clear()

    def note_done(self, count: int = 1) -> None:
        with self.lock:
            self.done += count

    def _run(self, number: int) -> None:
        try:
            self.work(number)
        except Exception:
            self.failures.append(f"{self.name}: {traceback.format_exc()}")

    def work(self, number: int) -> None:
        """What one of its threads does, until it is `stopping`."""
        while not self.stopping.is_set():
            self.turn()

    def turn(self) -> None:
        raise NotImplementedError("a guest has turns, or a `work` of its own")

    @abstractmethod
    def prepare(self) -> None: ...

    def finish(self) -> None:
        return

    @abstractmethod
    def check(self) -> list[str]: ...


def _stack_of(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    return "".join(traceback.format_stack(frame)) if frame else "it has just ended"
