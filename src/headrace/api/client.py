"""`connect`: one cluster, and everything that is done with it. Closing the client closes all that it made."""

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, Unpack

from headrace.api.checks import check_bootstrap, check_name, check_partition
from headrace.api.consumer import Consumer
from headrace.api.delivery import Delivered
from headrace.api.environment import required_bootstrap, settings_of_environment, usable
from headrace.api.errors import ApiError, Closed, UnknownOption
from headrace.api.fetching import Fetching, fetched
from headrace.api.message import Message
from headrace.api.options import (
    checked,
    checked_for_consumer,
    checked_for_producer,
    for_consumers,
    for_producers,
    kafka_config,
    near,
)
from headrace.api.outputs import Outputs
from headrace.api.positions import Seek
from headrace.api.producer import Producer
from headrace.api.sending import SendOptions
from headrace.api.topics import Lag, Topic, Topics
from headrace.api.traces import injector
from headrace.api.transaction import TransactionalProducer
from headrace.api.webhooks import Webhook, subscribed

PRODUCE_SECONDS = 150.0
# Arguments of `connect` that are no settings; no setting's name is as near to them as that.
OWN_OPTIONS, OWN_CUTOFF = ("gateway", "traces", "stop_on_signals"), 0.8
Config = Mapping[str, object]


class _Closable(Protocol):
    @property
    def is_closed(self) -> bool: ...

    def close(self) -> None: ...


Made = TypeVar("Made", bound=_Closable)


def connect(
    bootstrap: str | None = None,
    *,
    gateway: str = "http://127.0.0.1:8080",
    traces: bool = False,
    stop_on_signals: bool = False,
    **config: object,
) -> "Client":
    """A client of the cluster at `bootstrap`, "host:port" or several with commas.

    The file that HEADRACE_CONFIG names, if it does, has the settings that are not given here, `bootstrap.servers` too.
    Settings are librdkafka's, for all that the client makes: `connect(…, security_protocol="ssl", client_id="shop")`.
    `traces` carries OpenTelemetry's context in headers. `stop_on_signals` ends loops after the body they are in when
    SIGINT or SIGTERM comes, so that a `with` block closes everything cleanly; a second signal does what it would do
    without it. `gateway` is needed for `subscribe` only.
    """
    for name in config:
        if hint := near(name, OWN_OPTIONS, OWN_CUTOFF):
            raise UnknownOption(f"connect() has no option {name}", hint)
    of_file = settings_of_environment()
    at = required_bootstrap(bootstrap, of_file)
    return Client(
        at, gateway=gateway, traces=traces, stop_on_signals=stop_on_signals, config=config, of_file=usable(of_file)
    )


class Client:
    """`of_file` are settings of whoever runs the program; those of the program, `config`, count more."""

    def __init__(
        self,
        bootstrap: str,
        *,
        gateway: str,
        traces: bool,
        stop_on_signals: bool,
        config: Config,
        of_file: Config | None = None,
    ) -> None:
        own = {"bootstrap.servers": check_bootstrap(bootstrap)}
        self._config = kafka_config({"client.id": "headrace-python"}, of_file, checked(config), own)
        self._outputs = Outputs()
        self._gateway = gateway
        self._inject = injector() if traces else None
        self._stopping = threading.Event()
        self._opened: list[_Closable] = []
        self._signals = ExitStack()
        self._shared: Producer | None = None
        self._lock = threading.Lock()
        self._is_closed = False
        # A setting that does not exist is told here, not at the first message, and before signals are taken.
        self._topics = Topics(for_consumers(for_producers(self._config)))
        if stop_on_signals:
            self._signals.enter_context(_stopping_on_signals(self._stopping))

    # -- messages ----------------------------------------------------------------------------------------------------

    def produce(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivered:
        """Sends one message and waits until it is stored; for many, `producer()` is faster. Options as for `send`."""
        self.check_open()
        with self._lock:
            if self._shared is None:
                self._shared = self.producer()
        return self._shared.send(topic, value, **options).result(PRODUCE_SECONDS)

    def producer(self, client_id: str | None = None, config: Config | None = None) -> Producer:
        self.check_open()
        named = {"client.id": check_name("client", client_id, 'producer("shop")')} if client_id is not None else None
        settings = kafka_config(for_producers(self._config), named, checked_for_producer(config))
        made = self._kept(Producer(settings, self._inject))
        self._outputs.add(made)
        return made

    def transactional_producer(self, id: str, config: Config | None = None) -> TransactionalProducer:
        """`id` names this producer over restarts: no two may run with the same one."""
        made = self.unstarted_transactional_producer(id, config)
        made.start()
        return made

    def unstarted_transactional_producer(self, id: str, config: Config | None = None) -> TransactionalProducer:
        """A producer that is not started, for callers that cannot wait here: `start` it before its first transaction."""
        self.check_open()
        settings = kafka_config(for_producers(self._config), checked_for_producer(config))
        return self._kept(TransactionalProducer(id, settings, self._inject))

    def join_group(self, group: str, *topics: str, config: Config | None = None) -> Consumer:
        """A member of the group, which shares the partitions of the topics with the others; "^orders-.*" is a pattern."""
        self.check_open()
        settings = kafka_config(for_consumers(self._config), checked_for_consumer(config))
        return self._kept(Consumer(group, topics, settings, self._stopping, self._outputs))

    def fetch(
        self, topic: str, *, start: Seek = "earliest", partition: int | None = None, stop_at_end: bool = True
    ) -> Iterator[Message]:
        """The messages of a topic, without a group: from an offset or a time to the present end, or for ever."""
        return fetched(self.fetching(topic, partition, stop_at_end), start)

    def fetching(self, topic: str, partition: int | None, stop_at_end: bool) -> Fetching:
        partitions = self._open_topics().partitions_of(topic)
        if partition is not None and check_partition(partition) not in partitions:
            raise ApiError(f"{topic} has no partition {partition}", f"it has 0 to {len(partitions) - 1}")
        chosen = partitions if partition is None else [partition]
        return Fetching(for_consumers(self._config), topic, chosen, stop_at_end, self._stopping)

    def subscribe(self, url: str, topic: str, **options: object) -> Webhook:
        """The gateway POSTs the topic's messages to this URL from now on; options as in docs/push.md."""
        self.check_open()
        return subscribed(self._gateway, url, topic, options)

    # -- topics and groups -------------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Config | None = None,
        exist_ok: bool = False,
    ) -> None:
        """-1 is the brokers' default."""
        self._open_topics().create(name, partitions, replication_factor, config or {}, exist_ok)

    def describe_topic(self, name: str) -> Topic:
        return self._open_topics().describe(name)

    def alter_topic(self, name: str, partitions: int | None = None, config: Config | None = None) -> None:
        """More partitions, other settings; a setting of None goes back to its default."""
        self._open_topics().alter(name, partitions, config or {})

    def delete_topic(self, name: str) -> None:
        self._open_topics().delete(name)

    def topics(self) -> list[str]:
        return self._open_topics().names()

    def lag(self, group: str) -> Lag:
        return self._open_topics().lag(group)

    # -- the end -----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends all loops of this client after the body they are in; from any thread, or a signal handler."""
        self._stopping.set()

    def close(self) -> None:
        """Flushes producers, commits what consumers have finished, leaves groups. A second close does nothing."""
        if not self._is_closed:
            self._is_closed = True
            with self._signals:
                # The last one closes first. What bodies have sent is stored before their messages are committed.
                for each in sorted(self._opened, key=lambda made: isinstance(made, Producer)):
                    self._signals.callback(each.close)

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _kept(self, made: Made) -> Made:
        """Closed with the client, unless it was closed before."""
        self._opened = [each for each in self._opened if not each.is_closed] + [made]
        return made

    def check_open(self) -> None:
        self._topics.check_process()
        if self._is_closed:
            raise Closed("this client is closed", "use it inside its `with` block, or connect again")

    def _open_topics(self) -> Topics:
        self.check_open()
        return self._topics


@contextmanager
def _stopping_on_signals(stopping: threading.Event) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        raise ApiError("stop_on_signals outside the main thread", "connect in the main thread, or call client.stop()")
    before: dict[signal.Signals, Any] = {}

    def put_back() -> None:
        while before:
            signal.signal(*before.popitem())

    def stop(number: int, frame: object) -> None:
        stopping.set()
        put_back()  # who asks a second time does not want to wait for the body

    before.update({each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM)})
    try:
        yield
    finally:
        put_back()
