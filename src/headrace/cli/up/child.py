"""A broker, or the gateway, in a child process, as its parent sees it: start, wait until it serves, stop, kill.

Two pipes tie them together. Down: the child reads from a pipe that only we hold open, so it stops even when we are
killed with -9 (a death signal would tie it to one thread of ours); new settings come the same way. Up: the status line,
and end of file at its death.
The child has its own process group, so that Ctrl-C in a terminal reaches the parent alone and the child is asked once.
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from headrace.base.errors import UserError
from headrace.cli.run.new_options import NewOptions
from headrace.cli.run.secret_settings import environment_with
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.run.status_line import Failed, ReadyStatus, parse_status

STOP_SECONDS = 60.0


class Child(ABC):
    def __init__(self, name: str, pid_file: Path) -> None:
        self.name = name
        self.pid_file = pid_file
        self.ready: ReadyStatus | None = None
        self.failed: Failed | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._status_fd = -1
        self._life_fd = -1
        self._unread = b""
        self._untold = b""

    @abstractmethod
    def command_with(self, ready_fd: int, parent_fd: int) -> list[str]:
        """The command line of the broker, with the descriptors of its two pipes."""

    def environment(self) -> dict[str, str] | None:
        """The environment of the process; None for ours."""
        return None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None, "not started"
        return self._process

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def fileno(self) -> int:
        """Readable when there is news: for select."""
        return self._status_fd

    def start(self) -> None:
        assert not self.running, "already started"
        self.ready, self.failed, self._unread = None, None, b""
        self._status_fd, child_status = os.pipe()
        child_life, self._life_fd = os.pipe()
        os.set_blocking(self._life_fd, False)
        self._untold = b""
        try:
            self._process = subprocess.Popen(
                self.command_with(child_status, child_life),
                stdin=subprocess.DEVNULL,
                env=self.environment(),
                pass_fds=(child_status, child_life),
                process_group=0,
            )
        finally:
            os.close(child_status)
            os.close(child_life)

    def read_news(self) -> bool:
        """Takes in what the status pipe holds; False when it is closed, which means that the process has ended."""
        chunk = os.read(self._status_fd, 65536)
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        for line in lines:
            status = parse_status(line)
            if isinstance(status, ReadyStatus):
                self.ready = status
            else:
                self.failed = status
        return bool(chunk)

    def tell(self, line: bytes) -> None:
        """Sends a line down. One that stands still with a full pipe has the rest with the next line, or never."""
        self._untold += line
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            self._untold = self._untold[os.write(self._life_fd, self._untold) :]

    def until_ready(self, seconds: float) -> ReadyStatus:
        deadline = time.monotonic() + seconds
        while self.ready is None:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._status_fd], [], [], left)[0]:
                self.kill()
                raise UserError(f"{self.name} did not start in {seconds:.0f} s", "its log says what it was doing")
            if not self.read_news():
                self.wait(STOP_SECONDS)
                raise self.cause_of_death()
        return self.ready

    def cause_of_death(self) -> UserError:
        if self.failed is not None:
            return UserError(f"{self.name}: {self.failed.error}", self.failed.fix)
        code = self.process.wait()
        if code < 0:
            return UserError(
                f"{self.name} was ended by {signal.Signals(-code).name}",
                "see who sent it; the data is safe, start it again",
            )
        return UserError(f"{self.name} ended with exit code {code}", "its last log lines say why")

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Asks for a clean stop and waits; one that does not stop in time is killed, and that is said."""
        if self.running:
            self.process.terminate()
        self.wait(seconds)

    def kill(self) -> None:
        if self.running:
            self.process.kill()
        self.wait(STOP_SECONDS)

    def wait(self, seconds: float) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise UserError(
                f"{self.name} did not stop in {seconds:.0f} s and was killed",
                "its log says what it waited for",
            ) from None
        finally:
            self._close_pipes()

    def _close_pipes(self) -> None:
        for fd in (self._status_fd, self._life_fd):
            if fd >= 0:
                os.close(fd)
        self._status_fd = self._life_fd = -1


class ServeChild(Child):
    """A broker; the settings of `always` are its own, and stay when those of all change."""

    def __init__(self, options: ServeOptions, always: Mapping[str, str] | None = None) -> None:
        super().__init__(f"broker {options.id}", Path(options.broker_data) / "pid")
        self._always = dict(always or {})
        self.options = replace(options, settings={**options.settings, **self._always})

    def change(self, options: NewOptions) -> None:
        """Tells a running broker what counts from now on; one that starts later starts with it."""
        options = options._replace(settings={**options.settings, **self._always})
        self.options = replace(self.options, **options._asdict())
        if self.running:
            self.tell(options.to_line())

    def command_with(self, ready_fd: int, parent_fd: int) -> list[str]:
        return self.command(replace(self.options, ready_fd=ready_fd, parent_fd=parent_fd))

    def environment(self) -> dict[str, str] | None:
        return environment_with(self.options.settings)

    def command(self, options: ServeOptions) -> list[str]:
        # -P: a file of the user's that is named like a module must not be imported for it.
        return [sys.executable, "-P", "-m", "headrace.cli", "serve", *options.to_arguments()]
