"""Three brokers under `headrace up`, which looks after them: it may end one and start it again."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from chaos.cluster import LOOPBACK, STOP_SECONDS, Cluster
from headrace.cli.run.ports import free_port


class UpCluster(Cluster):
    """As a client sees it, it is a cluster like the others; of its lives only `pause` and `resume` are ours."""

    def __init__(self, data: Path) -> None:
        super().__init__(data)
        ports = ["--port", str(free_port(LOOPBACK, 3)), "--metrics-port", str(free_port(LOOPBACK, 3))]
        words = ["up", "--json", "--no-gateway", "--brokers", "3", "--data", str(data), *ports]
        self._command = [sys.executable, "-m", "headrace.cli", *words, "--log-level", "error"]
        self._bootstrap = ""

    @property
    def bootstrap(self) -> str:
        return self._bootstrap

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._bootstrap = json.loads(self._process.stdout.readline())["bootstrap"]
        return self

    def close(self) -> None:
        self._process.terminate()
        self._process.communicate(timeout=STOP_SECONDS)

    def pause(self, broker: int) -> None:
        self._paused.add(broker)
        os.kill(self.pid(broker), signal.SIGSTOP)

    def resume(self, broker: int) -> None:
        """Also of one that was started again meanwhile, to which it is nothing."""
        self._paused.discard(broker)
        os.kill(self.pid(broker), signal.SIGCONT)

    def pid(self, broker: int) -> int:
        return int((self.data / f"broker-{broker}" / "pid").read_text())
