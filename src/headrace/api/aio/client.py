"""`connect` for asyncio: one cluster, and everything that tasks do with it. Closing the client closes all that it made."""

from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

from headrace.api import client as threaded
from headrace.api.aio.consumer import Consumer
from headrace.api.aio.producer import Producer
from headrace.api.aio.threads import finished
from headrace.api.aio.transaction import TransactionalProducer
from headrace.api.client import PRODUCE_SECONDS
from headrace.api.delivery import Delivered
from headrace.api.message import Message
from headrace.api.options import Config
from headrace.api.positions import Seek
from headrace.api.sending import SendOptions
from headrace.api.topics import Lag, Topic
from headrace.api.webhooks import Webhook

# For short calls: topics, lags, flushes, the steps of transactions. A consumer has a thread of its own.
CLIENT_THREADS = 8
Result = TypeVar("Result")


def connect(
    bootstrap: str | None = None,
    *,
    gateway: str = "http://127.0.0.1:8080",
    traces: bool = False,
    stop_on_signals: bool = False,
    **config: object,
) -> "Client":
    """Connects like `headrace.connect`; a client for `async with`."""
    return Client(
        threaded.connect(bootstrap, gateway=gateway, traces=traces, stop_on_signals=stop_on_signals, **config)
    )


class Client:
    def __init__(self, sync: threaded.Client) -> None:
        self._sync = sync
        self._pool = ThreadPoolExecutor(CLIENT_THREADS, thread_name_prefix="headrace-api")
        self._opened: list[Producer | Consumer] = []
        self._shared: Producer | None = None

    # -- messages ----------------------------------------------------------------------------------------------------

    async def produce(self, topic: str, value: object, **options: Unpack[SendOptions]) -> Delivered:
        """Sends one message and waits until it is stored; for many, `producer()` is faster. Options as for `send`."""
        self._sync.parts.check_open()
        if self._shared is None:
            self._shared = self.producer()
        delivery = await self._shared.send(topic, value, **options)
        return await delivery.result(PRODUCE_SECONDS)

    def producer(self, client_id: str | None = None, config: Config | None = None) -> Producer:
        made = Producer(self._sync.producer(client_id, config), self._pool)
        self._keep(made)
        return made

    def transactional_producer(self, id: str, config: Config | None = None) -> TransactionalProducer:
        """`id` names this producer over restarts: no two may run with the same one."""
        made = TransactionalProducer(self._sync.parts.transactional_producer(id, config), self._pool)
        self._keep(made)
        return made

    def join_group(self, group: str, *topics: str, config: Config | None = None) -> Consumer:
        """A member of the group, which shares the partitions of the topics with the others."""
        made = Consumer(self._sync.join_group(group, *topics, config=config))
        self._keep(made)
        return made

    async def fetch(
        self, topic: str, *, start: Seek = "earliest", partition: int | None = None, stop_at_end: bool = True
    ) -> AsyncIterator[Message]:
        """The messages of a topic, without a group: from an offset or a time to the present end, or for ever."""
        fetching = await self._call(self._sync.parts.fetching, topic, partition, stop_at_end)
        own = ThreadPoolExecutor(1, thread_name_prefix="headrace-fetch")
        try:
            await finished(own, fetching.begin, start)
            while not fetching.is_over:
                for message in await finished(own, fetching.poll):
                    if fetching.is_stopped:
                        return
                    yield message
        finally:
            await finished(own, fetching.close)
            own.shutdown(wait=False)

    async def subscribe(self, url: str, topic: str, **options: object) -> Webhook:
        """The gateway POSTs the topic's messages to this URL from now on; options as in docs/push.md."""
        return await self._call(lambda: self._sync.subscribe(url, topic, **options))

    # -- topics and groups -------------------------------------------------------------------------------------------

    async def create_topic(
        self,
        name: str,
        partitions: int = -1,
        replication_factor: int = -1,
        config: Config | None = None,
        exist_ok: bool = False,
    ) -> None:
        """Creates a topic; -1 is the brokers' default. With `exist_ok` one that is there is taken as it is."""
        await self._call(self._sync.create_topic, name, partitions, replication_factor, config, exist_ok)

    async def describe_topic(self, name: str) -> Topic:
        return await self._call(self._sync.describe_topic, name)

    async def alter_topic(self, name: str, partitions: int | None = None, config: Config | None = None) -> None:
        """Gives a topic more partitions or other settings; a setting of None goes back to its default."""
        await self._call(self._sync.alter_topic, name, partitions, config)

    async def delete_topic(self, name: str) -> None:
        await self._call(self._sync.delete_topic, name)

    async def topics(self) -> list[str]:
        return await self._call(self._sync.topics)

    async def lag(self, group: str) -> Lag:
        return await self._call(self._sync.lag, group)

    # -- the end -----------------------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ends all loops of this client after the body they are in; from any thread, or a signal handler."""
        self._sync.stop()

    async def close(self) -> None:
        """Flushes producers, commits what consumers have finished, leaves groups. A second close does nothing."""
        if self._sync.is_closed:
            return
        try:
            async with AsyncExitStack() as closing:
                # The last one closes first. What bodies have sent is stored before their messages are committed.
                for each in sorted(self._opened, key=lambda made: isinstance(made, Producer)):
                    closing.push_async_callback(each.close)
        finally:
            # Here, not in a thread: signal handlers are put back in the main thread, and nothing is left to wait for.
            self._sync.close()
            self._pool.shutdown(wait=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    def _keep(self, made: Producer | Consumer) -> None:
        self._opened = [each for each in self._opened if not each.is_closed] + [made]

    async def _call(self, call: Callable[..., Result], *args: Any) -> Result:
        self._sync.parts.check_open()
        return await finished(self._pool, call, *args)
