"""Starts brokers and a gateway, waits for news of them, and stops them. Knows nothing of terminals: it tells a `Watcher`.

    starting --all brokers ready--> serving --signal--> stopping --all ended--> (exit code)

A broker that dies, or the gateway, is reported and not started again by itself: the cause comes first. With `--restart` it
is, after a pause, unless it was stopped cleanly. The death of the last broker is no end: `headrace start` brings it back.
One that was stopped (SIGSTOP, a frozen cgroup) for longer than its lease is ended and started again, if others run: they
lead by now, and clients that wait for the stopped one learn it when its end resets their connections.
`headrace start` asks for a broker through the control socket, or for one more. With a configuration file SIGHUP reads it
again, and the brokers are told; without one, or when the terminal is gone, SIGHUP stops all.
"""

import contextlib
import selectors
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

from headrace.base.errors import UserError
from headrace.cli.failure import ExitCode
from headrace.cli.run.status_line import ReadyStatus
from headrace.cli.up.child import STOP_SECONDS, Child, ServeChild
from headrace.cli.up.control import ControlSocket, StartRequest
from headrace.cli.up.file import ReadAgain, UpFile
from headrace.cli.up.gateway_child import GatewayChild
from headrace.cli.up.restarts import Restarts
from headrace.cli.up.signals import Signals
from headrace.cli.up.stopped_children import LOOK_SECONDS, StoppedChildren


class UpWatcher(Protocol):
    def on_serving(self, children: Sequence[ServeChild], gateway: GatewayChild | None) -> None: ...

    def on_gateway(self, gateway: GatewayChild) -> None:
        """Notes that the gateway serves too, some seconds after the brokers."""

    def on_start(self, child: ServeChild) -> None:
        """One that somebody asked for serves."""

    def on_death(self, child: Child, cause: UserError, left: int, restart_s: float | None) -> None:
        """`left` brokers live; it is started again in so many seconds, or not by itself."""

    def on_stopped(self, child: ServeChild, seconds: float) -> None:
        """Notes that a broker stood still for so long, and is ended and started again."""

    def on_read_again(self, read: ReadAgain) -> None:
        """The file was read again, and the brokers were told."""

    def on_wrong_file(self, error: UserError) -> None:
        """Notes that the file was read again and is wrong, and that nothing was changed."""

    def on_stopping(self) -> None: ...


class Supervisor:
    """`another` makes a broker beyond those of the beginning, by its number; `file` may be read again."""

    def __init__(
        self,
        children: Sequence[ServeChild],
        watcher: UpWatcher,
        data: Path,
        another: Callable[[int], ServeChild],
        stopped: StoppedChildren,
        restarts: Restarts,
        gateway: GatewayChild | None = None,
        file: UpFile | None = None,
    ) -> None:
        self.children = {child.options.id: child for child in children}
        self.watcher = watcher
        self.data = data
        self.another = another
        self.stopped = stopped
        self.restarts = restarts
        self.gateway = gateway
        self.file = file
        self.selector = selectors.DefaultSelector()
        self.signals = Signals(file is not None)
        self._serving = False
        self._living: set[Child] = set()
        self._asked: dict[Child, StartRequest] = {}
        self._to_start_again: set[Child] = set()

    def run(self) -> int:
        with self.signals.waking(self.selector):
            try:
                self._start()
                with self._reachable():
                    code = self._serve()
            finally:
                self._stop()
        return code

    # -- starting and serving ----------------------------------------------------------------------------------------

    def _start(self) -> None:
        for child in self.children.values():
            self._launch(child)
        while not all(child.ready for child in self.children.values()) and not self.signals.stops_asked:
            self._wait()
        # Not waited for, and not before: a web framework takes longer to load than a broker to start.
        if self.gateway and not self.signals.stops_asked:
            self._launch(self.gateway)

    def _launch(self, child: Child) -> None:
        child.start()
        self.restarts.on_launch(child, time.monotonic())
        self._living.add(child)
        self.selector.register(child, selectors.EVENT_READ, partial(self._on_news, child))

    def _serve(self) -> int:
        self._serving = True
        if not self.signals.stops_asked:
            self.watcher.on_serving(list(self.children.values()), self.gateway)
        while not self.signals.stops_asked:
            self._wait(self._patience())
            self._end_stopped()
            self._restart_dead()
            if self.signals.takes_change():
                self._read_file_again()
        return ExitCode.OK if self._brokers_left() else ExitCode.FAILED

    def _patience(self) -> float | None:
        """How long to wait for news: for ever, unless there is something to look at or to start meanwhile."""
        times = (LOOK_SECONDS if self.stopped.patience_s else None, self.restarts.seconds_left(time.monotonic()))
        return min((each for each in times if each is not None), default=None)

    def _restart_dead(self) -> None:
        for child in self.restarts.due(time.monotonic()):
            if not self.signals.stops_asked:
                self._to_start_again.add(child)
                self._launch(child)

    def _end_stopped(self) -> None:
        brokers = [child for child in self.children.values() if child in self._living]
        for child in self.stopped.look(brokers, time.monotonic()):
            if child not in self._to_start_again:
                self._to_start_again.add(child)
                self.watcher.on_stopped(child, self.stopped.patience_s)
                child.process.kill()

    def _read_file_again(self) -> None:
        assert self.file, "without a file the signal stops us"
        try:
            read = self.file.read_again()
        except UserError as error:
            self.watcher.on_wrong_file(error)
            return
        for child in self.children.values():
            child.change(read.options)
        if self.gateway:
            self.gateway.read_file_again()
        self.watcher.on_read_again(read)

    def _brokers_left(self) -> int:
        return len(self._living - {self.gateway})

    def _wait(self, seconds: float | None = None) -> None:
        for key, _ in self.selector.select(seconds):
            key.data()

    def _on_news(self, child: Child) -> None:
        was_ready = child.ready
        if not child.read_news():
            self._on_death(child)
        elif child.ready and not was_ready:
            child.pid_file.write_text(f"{child.pid}\n")
            self._on_ready(child, child.ready)

    def _on_ready(self, child: Child, ready: ReadyStatus) -> None:
        if isinstance(child, GatewayChild):
            self._to_start_again.discard(child)
            self.watcher.on_gateway(child)
        elif child in self._to_start_again:
            self._to_start_again.discard(child)
            self.watcher.on_start(self.children[ready.id])
        elif child in self._asked:
            self._asked.pop(child).answer(ready._asdict())
            self.watcher.on_start(self.children[ready.id])

    def _on_death(self, child: Child) -> None:
        self.selector.unregister(child)
        self._living.discard(child)
        cause = self._cause(child)
        child.stop()
        child.pid_file.unlink(missing_ok=True)
        if child in self._asked:
            self._asked.pop(child).answer({"error": cause.cause, "fix": cause.fix})
        if not self._serving:
            raise cause
        if isinstance(child, ServeChild) and child not in self._to_start_again and self.stopped.was_seen(child):
            # Another broker of this host has ended it: it stood still in the midst of a write to the metadata store.
            self._to_start_again.add(child)
            self.watcher.on_stopped(child, self.stopped.patience_s)
        if child in self._to_start_again and child.ready and not self.signals.stops_asked:
            self._launch(child)
            return
        self._to_start_again.discard(child)
        again = (
            None if self.signals.stops_asked or _was_stopped(child) else self.restarts.on_death(child, time.monotonic())
        )
        self.watcher.on_death(child, cause, self._brokers_left(), again)

    def _cause(self, child: Child) -> UserError:
        return UserError(f"{child.name} was stopped") if _was_stopped(child) else child.cause_of_death()

    # -- `headrace start` --------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _reachable(self) -> Iterator[None]:
        listener = ControlSocket(self.data)
        self.selector.register(listener, selectors.EVENT_READ, partial(self._on_asked, listener))
        try:
            yield
        finally:
            self.selector.unregister(listener)
            listener.close()
            for asked in self._asked.values():
                asked.answer({"error": "`headrace up` is stopping", "fix": ""})

    def _on_asked(self, listener: ControlSocket) -> None:
        asked = listener.accept()
        if asked is None:
            return
        child = self.children.get(asked.broker_id)
        if child in self._living:
            asked.answer({"error": f"broker {asked.broker_id} runs already", "fix": "see `headrace cluster status`"})
            return
        try:
            child = child or self.another(asked.broker_id)
            self._launch(child)
        except UserError as error:
            asked.answer({"error": error.cause, "fix": error.fix})
            return
        self.children[asked.broker_id] = child
        self._asked[child] = asked

    # -- stopping ----------------------------------------------------------------------------------------------------

    def _stop(self) -> None:
        if self._living and self.signals.stops_asked:
            self.watcher.on_stopping()
        for child in self._living:
            self.selector.modify(child, selectors.EVENT_READ, partial(self._on_end, child))
        asked, deadline = self.signals.stops_asked, time.monotonic() + STOP_SECONDS
        # The gateway has groups to leave, so the brokers go after it.
        for children in (self._living & {self.gateway}, self._living - {self.gateway}):
            for child in children:
                child.process.terminate()
            while self._living & children and self.signals.stops_asked == asked and time.monotonic() < deadline:
                self._wait(seconds=1.0)
        for child in self._living:
            child.kill()
        for child in (*self.children.values(), *([self.gateway] if self.gateway else [])):
            child.pid_file.unlink(missing_ok=True)

    def _on_end(self, child: Child) -> None:
        if not child.read_news():
            self.selector.unregister(child)
            child.stop()
            self._living.discard(child)


def _was_stopped(child: Child) -> bool:
    """Whether the child was asked to end, and did so cleanly."""
    return child.failed is None and child.process.wait() == 0
