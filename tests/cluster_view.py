"""All that clients can see of a cluster, as plain values to keep and compare: records, settings, groups, transactions.

Records are read by another library than the one that asks for the rest.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as ConsumerPartition

from headrace.admin.admin import BROKER, TOPIC, Admin, Resource
from headrace.admin.configs import ALL_BROKERS, describe_configs
from headrace.admin.groups import list_groups
from headrace.admin.lag import committed_by
from headrace.admin.topics import list_topics
from headrace.admin.transactions import list_transactions
from headrace.base.bootstrap import parse_bootstrap
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST, ClusterClient

READ_SECONDS = 30.0
View = dict[str, Any]


def view_of(bootstrap: str) -> View:
    seen = asyncio.run(_asked(bootstrap))
    for name, topic in seen["topics"].items():
        for number, partition in enumerate(topic["partitions"]):
            for isolation in ("read_committed", "read_uncommitted"):
                partition[isolation] = records_of(bootstrap, name, number, isolation, partition["start"])
    return seen


def committed(view: View, prefix: str = "") -> dict[str, Any]:
    """What a restored cluster must have too, its topics under other names with a prefix."""
    return {
        "topics": {
            prefix + name: [(each["start"], each["end"], each["read_committed"]) for each in topic["partitions"]]
            for name, topic in view["topics"].items()
        },
        "settings of topics": {prefix + name: topic["settings"] for name, topic in view["topics"].items()},
        "groups": {
            group: {prefix + id: at for id, at in seen["offsets"].items()} for group, seen in view["groups"].items()
        },
    }


async def _asked(bootstrap: str) -> View:
    admin, client = Admin(parse_bootstrap(bootstrap), "view"), ClusterClient(bootstrap, client_id="view")
    try:
        topics = [each for each in await list_topics(admin) if not each.is_internal]
        return {
            "settings": await _settings(admin, Resource(BROKER, ALL_BROKERS)),
            "topics": {
                each.name: {
                    "settings": await _settings(admin, Resource(TOPIC, each.name)),
                    "partitions": [await _bounds(client, each.name, number) for number in range(len(each.partitions))],
                }
                for each in topics
            },
            "groups": {each.group: await _group(admin, each.group, each.type) for each in await list_groups(admin)},
            "transactions": {each.transactional_id: each.state for each in await list_transactions(admin)},
        }
    finally:
        admin.close()
        await client.close()


async def _settings(admin: Admin, of: Resource) -> dict[str, str | None]:
    """Those that somebody chose."""
    return {
        each.name: each.value
        for each in await describe_configs(admin, of)
        if each.source in ("topic", "cluster (dynamic)")
    }


async def _bounds(client: ClusterClient, topic: str, number: int) -> View:
    id = TopicPartition(topic, number)
    return {name: (await client.offsets({id: at}))[id].offset for name, at in (("start", EARLIEST), ("end", LATEST))}


async def _group(admin: Admin, name: str, type: str) -> View:
    commits = await committed_by(admin, name)
    return {"type": type, "offsets": {str(id): [each.offset, each.metadata] for id, each in sorted(commits.items())}}


def records_of(
    bootstrap: str,
    topic: str,
    partition: int,
    isolation: str = "read_committed",
    start: int = 0,
    login: Mapping[str, str] | None = None,
) -> list[list[Any]]:
    """[offset, timestamp type, timestamp, key, value, headers] of each, from the start to the end of now."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "view",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "fetch.wait.max.ms": 10,
            "log_level": 0,
            "check.crcs": True,
            "isolation.level": isolation,
            **(login or {}),
        }
    )
    found: list[list[Any]] = []
    try:
        consumer.assign([ConsumerPartition(topic, partition, start)])
        while True:
            message = consumer.poll(READ_SECONDS)
            assert message is not None, f"the end of {topic}-{partition} was not reached"
            error = message.error()
            if error is not None and error.code() == KafkaError._PARTITION_EOF:
                return found
            assert error is None, error
            kind, timestamp = message.timestamp()
            key, value, headers = _text(message.key()), _text(message.value()), message.headers() or []
            found.append(
                [message.offset(), kind, timestamp, key, value, [[name, _text(each)] for name, each in headers]]
            )
    finally:
        consumer.close()


def _text(data: bytes | str | None) -> str | None:
    return data.decode("latin-1") if isinstance(data, bytes) else data
