"""The gateway that `headrace up` starts beside its brokers."""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.child import Child


class GatewayChild(Child):
    def __init__(
        self,
        brokers: Sequence[ServeOptions],
        host: str,
        port: int,
        data: Path,
        as_json: bool,
        config: str = "",
        log_file: str = "",
    ) -> None:
        super().__init__("the gateway", data / "gateway.pid")
        self.bootstrap = ",".join(f"{each.host}:{each.port}" for each in brokers)
        self.host = host
        self.port = port
        self._is_stale = False
        self._scheme = "http"
        self._metrics = ",".join(f"{each.host}:{each.metrics_port}" for each in brokers)
        self._words = [*(["--json"] if as_json else []), *([f"--config={config}"] if config else [])]
        if log_file:
            self._words.append(f"--log-file={log_file}")

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.host}:{self.port}"

    def secure(self, words: Sequence[str]) -> None:
        """Starts it with these words for https and logins."""
        self._scheme = "https"
        self._words += words

    def read_file_again(self) -> None:
        """A gateway that starts has read the file perhaps before it changed, and would end by the signal: it waits."""
        self._is_stale = self.running and self.ready is None
        if self.running and self.ready is not None:
            self.process.send_signal(signal.SIGHUP)

    def read_news(self) -> bool:
        is_alive = super().read_news()
        if self._is_stale and self.ready is not None:
            self.read_file_again()
        return is_alive

    def command_with(self, ready_fd: int, parent_fd: int) -> list[str]:
        told = {
            "bootstrap": self.bootstrap,
            "host": self.host,
            "port": self.port,
            "set": f"broker_metrics={self._metrics}",
            "ready-fd": ready_fd,
            "parent-fd": parent_fd,
        }
        options = [f"--{name}={value}" for name, value in told.items()]
        return [sys.executable, "-P", "-m", "headrace.cli", "gateway", *options, *self._words]
