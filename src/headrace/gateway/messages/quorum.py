"""acks=quorum: as acks=all, but only where the topic promises that a majority of its replicas has every message.

Kafka has no such setting: acks=all waits for the replicas that are in sync, and min.insync.replicas says how few these
may be. So a topic whose minimum is below a majority is refused before anything is sent.
"""

import time

from headrace.admin.admin import Admin
from headrace.client.kafka_cluster import KafkaCluster
from headrace.gateway.problem import Problem

SETTING = "min.insync.replicas"
# How long a change of the topic may take to be noticed.
KNOWN_SECONDS = 5.0


class QuorumRule:
    def __init__(self, client: KafkaCluster, admin: Admin) -> None:
        self._client = client
        self._admin = admin
        self._until: dict[str, float] = {}

    async def require(self, topic: str) -> None:
        if self._until.get(topic, 0.0) < time.monotonic():
            self._until.pop(topic, None)
            await self._look(topic)
            self._until[topic] = time.monotonic() + KNOWN_SECONDS

    async def _look(self, topic: str) -> None:
        partitions = (await self._client.topic(topic)).partitions.values()
        replicas = max((len(each.replicas) for each in partitions), default=1)
        configs = (await self._admin.topic_configs([topic], [SETTING])).get(topic, {})
        minimum = int(configs.get(SETTING) or 1)
        majority = replicas // 2 + 1
        if minimum < majority:
            raise Problem(
                409,
                "No quorum promised",
                f"topic {topic} has {replicas} replicas and {SETTING}={minimum}: fewer than a majority may acknowledge",
                f"set {SETTING} of the topic to {majority}, or ask for acks=all",
            )
