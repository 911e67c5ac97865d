"""`connect`: one cluster, and everything that is done with it. Closing the client closes all that it made."""

import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Self, Unpack

from headrace.api.checks import check_bootstrap
from headrace.api.consumer import Consumer
from headrace.api.delivery import Delivered
from headrace.api.environment import required_bootstrap, settings_of_environment, usable
from headrace.api.errors import UnknownOption
from headrace.api.fetching import fetched
from headrace.api.message import Message
from headrace.api.options import Config, checked, kafka_config, near
from headrace.api.parts import Parts
from headrace.api.positions import Seek
from headrace.api.producer import Producer
from headrace.api.sending import SendOptions
from headrace.api.topics import Lag, Topic
from headrace.api.transaction import TransactionalProducer
from headrace.api.webhooks import Webhook, subscribed

PRODUCE_SECONDS = 150.0
# Arguments of `connect` that are no settings; no setting's name is as near to them as that.
OWN_OPTIONS, OWN_CUTOFF = ("gateway", "traces", "stop_on_signals"), 0.8


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
    """`of_file` are settings of whoever runs the program; those of the program, `config`, count more.

    `parts` does the work, and is no part of the API.
    """

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
        settings = kafka_config({"client.id": "headrace-python"}, of_file, checked(config), own)
        self.parts = Parts(settings, traces=traces, stop_on_signals=stop_on_signals)
        self._gateway, self._settings = gateway, settings
        self._shared: Producer | None = None
        self._lock = threading.Lock()

    # -- messages ----------------------------------------------------------------------------------------------------

    def produce(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivered:
        """Sends one message and waits until it is stored; for many, `producer()` is faster. Options as for `send`."""
        self.parts.check_open()
        with self._lock:
            if self._shared is None:
                self._shared = self.producer()
        return self._shared.send(topic, value, **options).result(PRODUCE_SECONDS)

    def producer(self, client_id: str | None = None, config: Config | None = None) -> Producer:
        return self.parts.producer(client_id, config)

    def transactional_producer(self, id: str, config: Config | None = None) -> TransactionalProducer:
        """`id` names this producer over restarts: no two may run with the same one."""
        made = self.parts.transactional_producer(id, config)
        made.start()
        return made

    def join_group(self, group: str, *topics: str, config: Config | None = None) -> Consumer:
        """A member of the group, which shares the partitions of the topics with the others; "^orders-.*" is a pattern."""
        return self.parts.consumer(group, topics, config)

    def fetch(
        self, topic: str, *, start: Seek = "earliest", partition: int | None = None, stop_at_end: bool = True
    ) -> Iterator[Message]:
        """The messages of a topic, without a group: from an offset or a time to the present end, or for ever."""
        return fetched(self.parts.fetching(topic, partition, stop_at_end), start)

    def subscribe(self, url: str, topic: str, **options: object) -> Webhook:
        """The gateway POSTs the topic's messages to this URL from now on; options as in docs/push.md."""
        self.parts.check_open()
        return subscribed(self._gateway, self._settings, url, topic, options)

    # -- topics and groups -------------------------------------------------------------------------------------------

    def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Config | None = None,
        exist_ok: bool = False,
    ) -> None:
        """Creates a topic; -1 is the brokers' default. With `exist_ok` one that is there is taken as it is."""
        self.parts.topics().create(name, partitions, replication_factor, config or {}, exist_ok)

    def describe_topic(self, name: str) -> Topic:
        return self.parts.topics().describe(name)

    def alter_topic(self, name: str, partitions: int | None = None, config: Config | None = None) -> None:
        """Gives a topic more partitions or other settings; a setting of None goes back to its default."""
        self.parts.topics().alter(name, partitions, config or {})

    def delete_topic(self, name: str) -> None:
        self.parts.topics().delete(name)

    def topics(self) -> list[str]:
        return self.parts.topics().names()

    def lag(self, group: str) -> Lag:
        return self.parts.topics().lag(group)

    # -- the end -----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends all loops of this client after the body they are in; from any thread, or a signal handler."""
        self.parts.stopping.set()

    def close(self) -> None:
        """Flushes producers, commits what consumers have finished, leaves groups. A second close does nothing."""
        self.parts.close()

    @property
    def is_closed(self) -> bool:
        return self.parts.is_closed

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
