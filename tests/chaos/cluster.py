"""Three brokers in processes of their own, to be killed, paused, bounced and started again by number.

Invariant: what was started is stopped when the `with` block ends, however it ends, a paused broker too. A broker keeps
its port and its data over all its lives. Who leads and who controls is asked of the brokers, as a client would.
(`headrace.testing.Cluster` is the one for users: it neither pauses, nor puts a broker on another host or a bad disk.)
"""

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from uuid import uuid4

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ClusterMetadata, NewTopic, PartitionMetadata

from chaos.freezer import Freezer
from chaos.ledger import Place
from chaos.login import NOBODY, Login
from chaos.store_lock import writers_to
from eventually import until
from headrace.base.errors import UserError
from headrace.cli.run.ports import free_port
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.child import ServeChild

LOOPBACK = "127.0.0.1"
START_SECONDS = 60.0
CALM_SECONDS = 60.0
STOP_SECONDS = 60.0
REPLICATED = {"default.replication.factor": "3", "min.insync.replicas": "2", "auto.create.topics.enable": "false"}


class Child(ServeChild):
    """A broker that may be started by another program than `headrace serve`, and with more in its environment."""

    def __init__(self, options: ServeOptions, wrap: Callable[[list[str]], list[str]]) -> None:
        super().__init__(options)
        self._wrap = wrap

    def command(self, options: ServeOptions) -> list[str]:
        return self._wrap(super().command(options))


@dataclass
class Host:
    """Where one broker runs: its address, its rack, and what its command line is wrapped in."""

    id: int
    address: str = LOOPBACK
    wrap: Callable[[list[str]], list[str]] = field(default=lambda command: command)
    rack: str = ""


class Cluster:
    def __init__(
        self,
        data: Path,
        hosts: Iterable[Host] = (),
        store: str = "",
        settings: Mapping[str, str] | None = None,
        log_level: str = "info",
        login: Login = NOBODY,
    ) -> None:
        hosts = list(hosts) or [Host(number) for number in (1, 2, 3)]
        self.data = data
        self.login = login
        self._children = {
            host.id: Child(
                ServeOptions(
                    id=host.id,
                    host=host.address,
                    allow_insecure_network=True,
                    rack=host.rack,
                    port=(port := free_port(LOOPBACK)),
                    metrics_port=free_port(LOOPBACK),
                    data=str(data),
                    store=store,
                    settings={**REPLICATED, **(settings or {}), **self.settings_of(host.id, port)},
                    log_level=log_level,
                ),
                host.wrap,
            )
            for host in hosts
        }
        self._paused: set[int] = set()
        self._frozen: dict[int, Freezer] = {}
        self._admin: AdminClient | None = None

    def settings_of(self, broker: int, port: int) -> Mapping[str, str]:
        """The settings of one broker alone, for those who have some."""
        return {}

    # -- lives -----------------------------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        try:
            self.start(*self.ids)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for broker in self._running():
            self.resume(broker)
            self._children[broker].kill()

    def start(self, *brokers: int) -> None:
        """All at once; returns when each of them serves."""
        for broker in brokers:
            self._children[broker].start()
        for broker in brokers:
            self._children[broker].until_ready(START_SECONDS)

    def kill(self, *brokers: int) -> None:
        """SIGKILL to all before any is waited for, so that they die in one moment."""
        for broker in brokers:
            os.kill(self._children[broker].pid, signal.SIGKILL)
        for broker in brokers:
            self._children[broker].kill()
            if broker in self._frozen:
                self._frozen.pop(broker).thaw()
            self._paused.discard(broker)

    def pause(self, broker: int) -> None:
        self._paused.add(broker)
        os.kill(self._children[broker].pid, signal.SIGSTOP)

    def freeze(self, broker: int) -> None:
        """All its threads at once and its children too, by the kernel, as `docker pause` does; needs `has_freezer`."""
        self._paused.add(broker)
        freezer = self._frozen[broker] = Freezer(self._children[broker].pid)
        freezer.freeze()

    def pause_in_a_write(self, broker: int) -> None:
        """In the midst of a write to the embedded store, whose lock it then holds. Topics are created to have writes."""
        deadline = time.monotonic() + CALM_SECONDS
        created: list[Future[None]] = []
        self.pause(broker)
        while self._children[broker].pid not in writers_to(self.data / "meta"):
            assert time.monotonic() < deadline, f"broker {broker} was never met in a write to its store"
            self.resume(broker)
            if all(each.done() for each in created):
                topics = [NewTopic(f"written-{uuid4()}", 1, 3) for _ in range(10)]
                created = list(self.admin.create_topics(topics).values())
            self.pause(broker)

    def resume(self, broker: int) -> None:
        """Starts it again where the others have ended it, for it held the lock of the store."""
        if broker in self._frozen:
            self._frozen.pop(broker).thaw()
        if broker in self._paused:
            self._paused.discard(broker)
            child = self._children[broker]
            if child.running:
                os.kill(child.pid, signal.SIGCONT)
            else:
                self.start(broker)

    def stop(self, *brokers: int) -> None:
        """SIGTERM to all, then waits; a broker that does not end cleanly is an error."""
        for broker in brokers:
            os.kill(self._children[broker].pid, signal.SIGTERM)
        for broker in brokers:
            child = self._children[broker]
            child.wait(STOP_SECONDS)
            if child.process.returncode != 0:
                raise child.cause_of_death()

    def until_dead(self, broker: int, seconds: float = STOP_SECONDS) -> UserError:
        """Waits for a broker that stops by itself; what it said about it."""
        child = self._children[broker]
        until(lambda: not child.running, seconds=seconds, otherwise=f"broker {broker} goes on")
        while child.read_news():
            pass
        child.wait(STOP_SECONDS)
        return child.cause_of_death()

    @property
    def ids(self) -> list[int]:
        return list(self._children)

    def _running(self) -> list[int]:
        return [broker for broker, child in self._children.items() if child.running]

    def pid(self, broker: int) -> int:
        return self._children[broker].pid

    def folder(self, broker: int) -> Path:
        return Path(self._children[broker].options.broker_data)

    # -- as a client sees it -----------------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        options = (child.options for child in self._children.values())
        return ",".join(f"{each.host}:{each.port}" for each in options)

    def create_topic(self, name: str, partitions: int, config: Mapping[str, str], copies: int = 3) -> list[Place]:
        self.admin.create_topics([NewTopic(name, partitions, copies, config=dict(config))])[name].result()
        places = [(name, partition) for partition in range(partitions)]
        self.until_whole(places)
        return places

    def until_whole(self, places: Iterable[Place]) -> None:
        """Every partition has a leader and all its replicas in sync, as the metadata says."""
        wanted = list(places)

        def missing() -> list[str]:
            metadata = self.metadata()
            found = [(place, _partition(metadata, place)) for place in wanted]
            return [
                f"{place}: leader {each.leader}, isr {each.isrs} of {each.replicas}" if each else f"{place}: unknown"
                for place, each in found
                if each is None or each.leader < 0 or sorted(each.isrs) != sorted(each.replicas)
            ]

        until(lambda: not missing(), seconds=CALM_SECONDS, otherwise=lambda: f"not whole: {missing()}")

    def leader(self, place: Place) -> int:
        """Of now, or of soon."""
        leader = -1

        def found() -> bool:
            nonlocal leader
            partition = _partition(self.metadata(), place)
            leader = -1 if partition is None else partition.leader
            return leader > 0

        until(found, seconds=CALM_SECONDS, otherwise=f"nobody leads {place}")
        return leader

    def leaders(self) -> dict[Place, int]:
        """As one broker sees them now; -1 for none."""
        topics = self.metadata().topics
        return {
            (name, number): partition.leader
            for name, topic in topics.items()
            for number, partition in topic.partitions.items()
        }

    def described(self, places: Iterable[Place]) -> str:
        metadata = self.metadata()
        found = [(place, _partition(metadata, place)) for place in places]
        return "\n".join(
            f"{place}: leader {each.leader}, isr {each.isrs} of {each.replicas}" for place, each in found if each
        )

    def controller(self) -> int:
        return int(self.metadata().controller_id)

    def metadata(self) -> ClusterMetadata:
        def asked() -> ClusterMetadata | None:
            try:
                return self.admin.list_topics(timeout=5)
            except KafkaException:
                return None

        found = until(asked, seconds=CALM_SECONDS, otherwise="no broker answers")
        assert found is not None
        return found

    @property
    def admin(self) -> AdminClient:
        if self._admin is None:
            impatient = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200, "log_level": 0}
            brokers = {"bootstrap.servers": self.bootstrap, **self.login.librdkafka}
            self._admin = AdminClient({**brokers, **impatient})
        return self._admin


def _partition(metadata: ClusterMetadata, place: Place) -> PartitionMetadata | None:
    """None as long as the broker that was asked has not heard of it."""
    topic = metadata.topics.get(place[0])
    return None if topic is None else topic.partitions.get(place[1])
