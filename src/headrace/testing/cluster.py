"""`Cluster`: several real brokers for a test, each a child process, as a context manager.

    with Cluster(3) as cluster:
        Producer({"bootstrap.servers": cluster.bootstrap})
        cluster.kill(1)
        cluster.start(1)

Brokers are numbered from 1. Ports and data of each stay the same over stop, kill and start. The metadata is a SQLite
file beside their directories, unless `store` names another. The children die with this process, however it ends.
"""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from headrace.cli.run.ports import free_port, give_back
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.child import STOP_SECONDS, ServeChild
from headrace.cluster.broker_settings import settings_for
from headrace.testing.broker import HOST, START_SECONDS, kafka_settings


class Cluster:
    """Settings as for `Broker`; without any, what `headrace up --brokers N` uses: three replicas, two to acknowledge.

    `racks` are given to brokers 1, 2, … in their order. A setting that is a
    function is asked for its value with the number of each broker.
    """

    def __init__(
        self,
        brokers: int = 3,
        settings: Mapping[str, object] | None = None,
        *,
        racks: Sequence[str] = (),
        data: str | Path | None = None,
        store: str = "",
        log_level: str = "error",
        start_seconds: float = START_SECONDS,
        **named_settings: object,
    ) -> None:
        self._temporary = None
        if data is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="headrace-", ignore_cleanup_errors=True)
            data = self._temporary.name
        self.data = Path(data)
        self._settings = {**settings_for(brokers), **(settings or {}), **named_settings}
        self._store = store
        self._log_level = log_level
        self._start_seconds = start_seconds
        self._members: dict[int, ServeChild] = {}
        for number in range(1, brokers + 1):
            self._enlist(number, racks[number - 1] if number <= len(racks) else "")

    def _enlist(self, number: int, rack: str) -> ServeChild:
        options = ServeOptions(
            id=number,
            host=HOST,
            port=free_port(HOST),
            data=str(self.data),
            store=self._store,
            metrics_port=free_port(HOST),
            rack=rack,
            settings=self._settings_of(number),
            log_level=self._log_level,
        )
        member = self._members[number] = ServeChild(options)
        return member

    def _settings_of(self, number: int) -> dict[str, str]:
        return kafka_settings({name: each(number) if callable(each) else each for name, each in self._settings.items()})

    # -- where they are ----------------------------------------------------------------------------------------------

    @property
    def ids(self) -> list[int]:
        return list(self._members)

    @property
    def bootstrap(self) -> str:
        return ",".join(self.address(number) for number in self._members)

    def address(self, number: int) -> str:
        return f"{HOST}:{self.options(number).port}"

    def options(self, number: int) -> ServeOptions:
        return self._members[number].options

    def pid(self, number: int) -> int:
        return self._members[number].pid

    def running(self, number: int) -> bool:
        return self._members[number].running

    def metrics_url(self, number: int) -> str:
        return f"http://{HOST}:{self.options(number).metrics_port}/metrics"

    # -- what they do ------------------------------------------------------------------------------------------------

    def start(self, *numbers: int) -> Self:
        """Starts these brokers, or all that do not run; returns when they serve, or raises UserError with cause and fix."""
        members = [self._members[number] for number in numbers or self._members if not self.running(number)]
        for member in members:
            member.start()
        for member in members:
            member.until_ready(self._start_seconds)
        return self

    def stop(self, *numbers: int) -> None:
        """A clean stop of these brokers, one after the other, or of all at once."""
        if numbers:
            for number in numbers:
                self._members[number].stop()
            return
        # Asked once each: a broker that is asked again ends at once, without its clean stop.
        for member in self._members.values():
            if member.running:
                member.process.terminate()
        for member in self._members.values():
            member.wait(STOP_SECONDS)

    def kill(self, *numbers: int) -> None:
        """SIGKILL to these brokers, or to all; returns when they are gone."""
        doomed = [self._members[number] for number in numbers or self._members]
        for member in doomed:
            if member.running:
                member.process.kill()
        for member in doomed:
            member.kill()

    def restart(self, number: int) -> None:
        self.stop(number)
        self.start(number)

    def add(self, rack: str = "") -> int:
        """Another broker, which joins the cluster; its number."""
        number = max(self._members) + 1
        self._enlist(number, rack)
        self.start(number)
        return number

    def close(self) -> None:
        """Stops all brokers and gives their ports back. On a temporary directory nothing remains: no clean stop."""
        try:
            if self._temporary is None:
                self.stop()
            else:
                self.kill()
        finally:
            for member in self._members.values():
                give_back(member.options.port, member.options.metrics_port)
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
