"""Starts broker processes, waits for news of them, and stops them. Knows nothing of terminals: it tells a `Watcher`.

    starting --all ready--> serving --signal, or the last broker died--> stopping --all ended--> (exit code)

A broker that dies while others live is reported and not started again: the cause comes first.
"""

import contextlib
import os
import selectors
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from headrace.base.errors import UserError
from headrace.cli.child import STOP_SECONDS, ServeChild
from headrace.cli.failure import ExitCode

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Watcher(Protocol):
    def on_serving(self, children: Sequence[ServeChild]) -> None: ...

    def on_death(self, cause: UserError, left: int) -> None: ...

    def on_stopping(self) -> None: ...


class Supervisor:
    def __init__(self, children: Sequence[ServeChild], watcher: Watcher) -> None:
        self.children = children
        self.watcher = watcher
        self.selector = selectors.DefaultSelector()
        self.signals = 0

    def run(self) -> int:
        with self._signals_wake_us():
            try:
                self._start()
                code = self._serve()
            finally:
                self._stop()
        return code

    def _start(self) -> None:
        for child in self.children:
            child.start()
            self.selector.register(child, selectors.EVENT_READ)
        while not all(child.ready for child in self.children) and not self.signals:
            for child in self._news():
                if not child.read_news():
                    raise child.cause_of_death()
        for child in self.children:
            if child.ready:
                _pid_file(child).write_text(f"{child.pid}\n")

    def _serve(self) -> int:
        if not self.signals:
            self.watcher.on_serving(self.children)
        living = set(self.children)
        while living and not self.signals:
            for child in self._news():
                if not child.read_news():
                    living.discard(child)
                    self._on_death(child, len(living))
        return ExitCode.OK if living else ExitCode.FAILED

    def _on_death(self, child: ServeChild, left: int) -> None:
        self.selector.unregister(child)
        cause = child.cause_of_death()
        child.stop()
        _pid_file(child).unlink(missing_ok=True)
        self.watcher.on_death(cause, left)

    def _stop(self) -> None:
        living = {child for child in self.children if child.running}
        if living and self.signals:
            self.watcher.on_stopping()
        for child in living:
            child.process.terminate()
        asked, deadline = self.signals, time.monotonic() + STOP_SECONDS
        while living and self.signals == asked and time.monotonic() < deadline:
            for child in self._news(seconds=1.0):
                if not child.read_news():
                    self.selector.unregister(child)
                    child.stop()
                    living.discard(child)
        for child in living:
            child.kill()
        for child in self.children:
            _pid_file(child).unlink(missing_ok=True)

    def _news(self, seconds: float | None = None) -> Iterator[ServeChild]:
        for key, _ in self.selector.select(seconds):
            if isinstance(key.fileobj, ServeChild):
                yield key.fileobj
            else:
                os.read(key.fd, 4096)

    @contextlib.contextmanager
    def _signals_wake_us(self) -> Iterator[None]:
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        self.selector.register(wake_read, selectors.EVENT_READ)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        former = {number: signal.signal(number, self._on_signal) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)
            signal.set_wakeup_fd(-1)
            self.selector.close()
            os.close(wake_read)
            os.close(wake_write)

    def _on_signal(self, *_: object) -> None:
        self.signals += 1


def _pid_file(child: ServeChild) -> Path:
    return Path(child.options.broker_data) / "pid"
