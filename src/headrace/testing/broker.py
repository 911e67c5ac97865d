"""`Broker`: one real broker for a test, as a context manager, with its own port and temporary directory.

    with Broker(num_partitions=4) as broker:
        Producer({"bootstrap.servers": broker.bootstrap})

Port and data stay the same over stop, kill and start. The child dies with this process, however it ends.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from headrace.cli.run.ports import free_port, give_back
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.run.status_line import ReadyStatus
from headrace.cli.up.child import ServeChild

HOST = "127.0.0.1"
START_SECONDS = 30.0


class Host(Protocol):
    """The process or thread that the broker runs in."""

    @property
    def pid(self) -> int: ...

    @property
    def running(self) -> bool: ...

    def start(self) -> None: ...

    def until_ready(self, seconds: float) -> ReadyStatus: ...

    def stop(self) -> None: ...

    def kill(self) -> None: ...


class Broker:
    """Settings by Kafka's names: `Broker({"num.partitions": 4})`, or with underscores: `Broker(num_partitions=4)`.

    `in_process=True` runs it in a thread of this process: a debugger sees it; it cannot be killed.
    `data` keeps the files in a directory of yours; otherwise they are gone when the broker is closed.
    """

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        in_process: bool = False,
        data: str | Path | None = None,
        port: int | None = None,
        log_level: str = "error",
        **named_settings: object,
    ) -> None:
        self._temporary = None
        if data is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="headrace-")
            data = self._temporary.name
        self.data = Path(data)
        self.metrics_port = free_port(HOST)
        self._given_ports = [self.metrics_port]
        if port is None:
            port = free_port(HOST)
            self._given_ports.append(port)
        self.port = port
        self.options = ServeOptions(
            host=HOST,
            port=self.port,
            data=str(self.data),
            metrics_port=self.metrics_port,
            settings=kafka_settings({**(settings or {}), **named_settings}),
            log_level=log_level,
        )
        self._host = _host(self.options, in_process)

    @property
    def bootstrap(self) -> str:
        return f"{HOST}:{self.port}"

    @property
    def metrics_url(self) -> str:
        return f"http://{HOST}:{self.metrics_port}/metrics"

    @property
    def pid(self) -> int:
        return self._host.pid

    @property
    def running(self) -> bool:
        return self._host.running

    def start(self) -> Self:
        """Returns when the broker serves; raises UserError with cause and fix when it does not come up."""
        self._host.start()
        self._host.until_ready(START_SECONDS)
        return self

    def stop(self) -> None:
        """A clean stop: everything is synced, the next start scans nothing."""
        self._host.stop()

    def kill(self) -> None:
        """SIGKILL; returns when the process is gone."""
        self._host.kill()

    def restart(self) -> Self:
        self.stop()
        return self.start()

    def close(self) -> None:
        """Stops the broker, gives its ports back and removes the temporary directory."""
        try:
            self.stop()
        finally:
            give_back(*self._given_ports)
            if self._temporary is not None:
                self._temporary.cleanup()

    def __enter__(self) -> Self:
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def kafka_settings(settings: Mapping[str, object]) -> dict[str, str]:
    """Names with underscores for dots are Python's; one that has dots may have underscores too, as in a listener's."""
    return {name if "." in name else name.replace("_", "."): _text(each) for name, each in settings.items()}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _host(options: ServeOptions, in_process: bool) -> Host:
    if not in_process:
        return ServeChild(options)
    from headrace.testing.thread_host import ThreadHost

    return ThreadHost(options)
