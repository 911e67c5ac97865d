"""The parts of a client: producers, consumers and readers, made with its settings, and closed with it."""

import threading
from contextlib import ExitStack
from typing import Protocol, TypeVar

from headrace.api.checks import check_name, check_partition
from headrace.api.consumer import Consumer
from headrace.api.errors import ApiError, Closed
from headrace.api.fetching import Fetching
from headrace.api.options import (
    Config,
    checked_for_consumer,
    checked_for_producer,
    for_consumers,
    for_producers,
    kafka_config,
)
from headrace.api.outputs import Outputs
from headrace.api.producer import Producer
from headrace.api.signals import stopping_on_signals
from headrace.api.topics import Topics
from headrace.api.traces import injector
from headrace.api.transaction import TransactionalProducer


class _Closable(Protocol):
    @property
    def is_closed(self) -> bool: ...

    def close(self) -> None: ...


Made = TypeVar("Made", bound=_Closable)


class Parts:
    def __init__(self, config: Config, *, traces: bool, stop_on_signals: bool) -> None:
        self._config = config
        self._inject = injector() if traces else None
        self._outputs = Outputs()
        self._opened: list[_Closable] = []
        self._ends = ExitStack()
        self.stopping = threading.Event()
        self.is_closed = False
        # A setting that does not exist is told here, not at the first message, and before signals are taken.
        self._topics = Topics(for_consumers(for_producers(config)))
        if stop_on_signals:
            self._ends.enter_context(stopping_on_signals(self.stopping))

    def check_open(self) -> None:
        self._topics.check_process()
        if self.is_closed:
            raise Closed("this client is closed", "use it inside its `with` block, or connect again")

    def topics(self) -> Topics:
        self.check_open()
        return self._topics

    def producer(self, client_id: str | None, config: Config | None) -> Producer:
        self.check_open()
        named = {"client.id": check_name("client", client_id, 'producer("shop")')} if client_id is not None else None
        settings = kafka_config(for_producers(self._config), named, checked_for_producer(config))
        made = self._kept(Producer(settings, self._inject))
        self._outputs.add(made.queue)
        return made

    def transactional_producer(self, id: str, config: Config | None) -> TransactionalProducer:
        """A producer whose caller has to `start` it before its first transaction, where it can wait."""
        self.check_open()
        settings = kafka_config(for_producers(self._config), checked_for_producer(config))
        return self._kept(TransactionalProducer(id, settings, self._inject))

    def consumer(self, group: str, topics: tuple[str, ...], config: Config | None) -> Consumer:
        self.check_open()
        settings = kafka_config(for_consumers(self._config), checked_for_consumer(config))
        return self._kept(Consumer(group, topics, settings, self.stopping, self._outputs))

    def fetching(self, topic: str, partition: int | None, stop_at_end: bool) -> Fetching:
        partitions = self.topics().partitions_of(topic)
        if partition is not None and check_partition(partition) not in partitions:
            raise ApiError(f"{topic} has no partition {partition}", f"it has 0 to {len(partitions) - 1}")
        chosen = partitions if partition is None else [partition]
        return Fetching(for_consumers(self._config), topic, chosen, stop_at_end, self.stopping)

    def close(self) -> None:
        """Closes all, the last one first; what bodies have sent is stored before their messages are committed."""
        if not self.is_closed:
            self.is_closed = True
            with self._ends:
                for each in sorted(self._opened, key=lambda made: isinstance(made, Producer)):
                    self._ends.callback(each.close)

    def _kept(self, made: Made) -> Made:
        """Closed with the client, unless it was closed before."""
        self._opened = [each for each in self._opened if not each.is_closed] + [made]
        return made
