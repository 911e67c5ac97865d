"""A program of another project, in a process of its own, ended with the test whatever becomes of it."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

STOP_SECONDS = 30.0
# A small heap and the cheap compiler: these JVMs live for seconds.
JVM = ["java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
LOG_SHOWN_CHARS = 6000


class Program:
    """`with Program(command, log) as program:`; what it prints goes to `log`."""

    def __init__(
        self,
        command: Sequence[str | int | Path],
        log: Path,
        environment: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._command = [str(word) for word in command]
        self._log = log
        self._environment = {**os.environ, **(environment or {})}
        self._cwd = cwd or log.parent
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            # A session of its own, so that what it starts ends with it.
            self._process = subprocess.Popen(
                self._command,
                cwd=self._cwd,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def well(self) -> None:
        """Fails with the end of its log when it has ended."""
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"{self._command[0]} ended with exit code {code}:\n{self.said}"

    def stop(self) -> None:
        """SIGTERM, as an operator would; it must end by itself."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(STOP_SECONDS)

    def wait(self, seconds: float) -> None:
        """Until it ends by itself, with success."""
        assert self._process is not None
        code = self._process.wait(seconds)
        assert code == 0, f"{self._command[0]} ended with exit code {code}:\n{self.said}"

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_SECONDS)

    @property
    def said(self) -> str:
        return self._log.read_text(errors="replace")[-LOG_SHOWN_CHARS:]
