"""A cluster as a pipeline's driver sees it: which partitions a topic has, and from where to where they can be read.

`Kafka` is a plain value that travels to Spark's tasks; nothing stays connected between two questions, since minutes of
work lie between them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from headrace.admin.admin import Admin
from headrace.base.bootstrap import parse_bootstrap
from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition, format_id
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient
from headrace.client.connection import Disconnected
from headrace.client.decided_ends import StillOpen, decided_ends
from headrace.client.security import security_from
from headrace.pipelines.ranges import Offsets
from headrace.wire.codes import CODES, ErrorCode

CLIENT_ID = "headrace-pipeline"
DEFAULT_BOOTSTRAP = "127.0.0.1:9092"

T = TypeVar("T")


class Kafka(NamedTuple):
    """`options` have the names of Kafka's clients: security.protocol, sasl.username, …"""

    bootstrap: str = DEFAULT_BOOTSTRAP
    options: Mapping[str, str] = {}

    def source_options(self) -> dict[str, str]:
        """The options of `format("headrace")`."""
        return {
            "kafka.bootstrap.servers": self.bootstrap,
            **{f"kafka.{name}": value for name, value in self.options.items()},
        }


class TopicBounds(NamedTuple):
    cluster_id: str
    topic: str
    topic_id: str
    start: Offsets
    end: Offsets
    """Where a reader of committed records has to stop: before the first open transaction."""


def look_at(kafka: Kafka, topic: str) -> TopicBounds:
    return _asked(kafka, partial(_view, topic), topic)


def look_at_all(kafka: Kafka, topic: str, seconds: float) -> TopicBounds:
    """A look like `look_at`, once all that is written now is committed or aborted."""

    async def ask(client: ClusterClient) -> TopicBounds:
        view = await _view(topic, client)
        ids = [TopicPartition(topic, partition) for partition in view.end]
        try:
            ends = await decided_ends(client, ids, seconds)
        except StillOpen:
            raise UserError(
                f"a transaction in {topic} has been open for more than {seconds:.0f} s",
                "`headrace txn find-hanging` finds it",
            ) from None
        return view._replace(end={id.partition: end for id, end in ends.items()})

    return _asked(kafka, ask, topic)


async def _view(topic: str, client: ClusterClient) -> TopicBounds:
    seen = await client.metadata([topic])
    found = seen.topics[topic]
    if found.error_code:
        raise Refused(found.error_code, f"{topic}: {CODES[found.error_code].message}")
    ids = [TopicPartition(topic, partition) for partition in found.partitions]
    start = await client.offsets(dict.fromkeys(ids, EARLIEST))
    end = await client.offsets(dict.fromkeys(ids, LATEST))
    return TopicBounds(
        seen.cluster_id,
        topic,
        format_id(found.id),
        {id.partition: start[id].offset for id in ids},
        {id.partition: end[id].offset for id in ids},
    )


def topic_names(kafka: Kafka) -> list[str]:
    """The names of all topics but the internal ones."""

    async def ask(client: ClusterClient) -> list[str]:
        return [topic.name for topic in (await client.metadata()).topics.values() if not topic.is_internal]

    return _asked(kafka, ask, "")


def ask_admin(kafka: Kafka, ask: Callable[[Admin], Awaitable[T]]) -> T:
    async def run() -> T:
        admin = Admin(parse_bootstrap(kafka.bootstrap), CLIENT_ID, security_from(kafka.options))
        try:
            return await ask(admin)
        finally:
            admin.close()

    with in_plain_words():
        return asyncio.run(run())


def _asked(kafka: Kafka, ask: Callable[[ClusterClient], Awaitable[T]], topic: str) -> T:
    async def run() -> T:
        client = ClusterClient(kafka.bootstrap, client_id=CLIENT_ID, security=security_from(kafka.options))
        try:
            return await ask(client)
        finally:
            await client.close()

    with in_plain_words(topic):
        return asyncio.run(run())


@contextmanager
def in_plain_words(topic: str = "") -> Iterator[None]:
    try:
        yield
    except Disconnected as error:
        raise UserError(
            f"no broker answers ({error})", "start one with `headrace up`, or name yours with --bootstrap HOST:PORT"
        ) from None
    except Refused as error:
        raise UserError(error.message, _fix(error.code, topic)) from None


def _fix(code: int, topic: str) -> str:
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"`headrace topic list` shows the topics, `headrace topic create {topic}` makes this one"
    return "`headrace doctor` looks closer"
