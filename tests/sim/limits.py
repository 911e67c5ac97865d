"""What brokers do after many batches, producers or minutes, made to happen within a storm.

snapshot_batches   a snapshot of a log's state between two rolls, not at rolls only
producers_max      producers that a partition remembers: `crowd` brings more than that along
sessions_max       fetch sessions that a broker keeps: the others, followers too, do without
is_restless        compaction all the time, and producers that are forgotten after some seconds
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from headrace.broker.hosting import topic_settings
from headrace.broker.upkeep import janitor
from headrace.cluster.broker_config import BrokerConfig
from headrace.log.config import LogConfig

if TYPE_CHECKING:
    from sim.storm import Plan

RESTLESS: Final[Mapping[str, str]] = {
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.max.compaction.lag.ms": "700",
    "log.cleaner.min.cleanable.ratio": "0.01",
    "log.cleaner.delete.retention.ms": "2000",
}
# Longer than a transactional producer sends anything again. Others do so for as long as they live, so there are none then.
EXPIRATION_MS: Final = "7000"
EXPIRY_TICKS: Final = 2


def settings(plan: "Plan") -> dict[str, str]:
    sessions = {"max.incremental.fetch.session.cache.slots": str(plan.sessions_max)} if plan.sessions_max else {}
    expiration = {"producer.id.expiration.ms": EXPIRATION_MS} if plan.is_restless and not plan.producers else {}
    return {**sessions, **expiration, **(RESTLESS if plan.is_restless else {})}


@contextmanager
def within_reach(plan: "Plan") -> Iterator[None]:
    before = topic_settings.log_limits, janitor.EXPIRY_TICKS

    def log_limits(config: BrokerConfig) -> LogConfig:
        limits = before[0](config)
        return limits._replace(
            snapshot_batches=plan.snapshot_batches or limits.snapshot_batches,
            producers_max=plan.producers_max or limits.producers_max,
        )

    topic_settings.log_limits = log_limits
    if plan.is_restless:
        janitor.EXPIRY_TICKS = EXPIRY_TICKS
    try:
        yield
    finally:
        topic_settings.log_limits, janitor.EXPIRY_TICKS = before
