"""Somebody changes settings of a topic again and again, as controllers of quotas, throttles and retention do."""

import asyncio
from random import Random

from headrace.wire.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from sim.clients import Directory, ask_once

ALTER_CONFIGS = 1
TOPIC_RESOURCE = 2
SET = 0
DAY_MS = 86_400_000


async def change_configs(directory: Directory, topic: str, times: int) -> None:
    for _ in range(times):
        name, value = some_setting(directory.rng)
        change = IncrementalAlterableConfig(name, SET, value)
        request = IncrementalAlterConfigsRequest([IncrementalAlterConfigsResource(TOPIC_RESOURCE, topic, [change])])
        await ask_once(directory, request, ALTER_CONFIGS)
        await asyncio.sleep(directory.rng.uniform(0.0, 0.3))


def some_setting(rng: Random) -> tuple[str, str]:
    """One that changes nothing about what an ack means."""
    return rng.choice(
        (
            ("retention.ms", str(rng.randrange(30, 60) * DAY_MS)),
            ("max.message.bytes", str(rng.randrange(500_000, 1_000_000))),
            ("segment.ms", str(rng.randrange(2000, 5000))),
            ("segment.bytes", str(rng.randrange(1 << 20, 1 << 24))),
            ("follower.replication.throttled.replicas", rng.choice(("", "*"))),
        )
    )
