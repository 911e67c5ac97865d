"""The settings of topics as their logs and partitions follow them: the topic's own over the defaults of the broker.

Invariant: the same object as long as nothing changed, so that an unchanged partition is told nothing.
"""

from headrace.base.clock import Now
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import PartitionState, Topic
from headrace.cluster.topic_config import TopicConfig, default_topic_config, topic_config
from headrace.log.config import LogConfig
from headrace.partition.partition import Partition


class TopicSettings:
    def __init__(self) -> None:
        self.limits = LogConfig()
        self._defaults: TopicConfig | None = None
        self._configs: dict[str, TopicConfig] = {}

    def refresh(self, config: BrokerConfig) -> bool:
        """Whether other defaults hold now, so that any topic may have other settings."""
        self.limits = log_limits(config)
        defaults = default_topic_config(config)
        has_changed = defaults != self._defaults
        self._defaults = defaults
        return has_changed

    def look(self, topic: Topic) -> TopicConfig:
        """Worked out once for all partitions of a topic that changed."""
        assert self._defaults is not None
        settings = topic_config(topic.config, self._defaults)
        known = self._configs.get(topic.name)
        if known == settings:
            return known
        self._configs[topic.name] = settings
        return settings

    def of(self, topic: Topic) -> TopicConfig:
        return self._configs.get(topic.name) or self.look(topic)

    def forget(self, name: str) -> None:
        self._configs.pop(name, None)


def tell(partition: Partition, state: PartitionState, settings: TopicConfig, now: Now) -> bool:
    """Tells a partition what the image says of it; returns whether it is in another state."""
    if partition.config is not settings:
        partition.on_config(settings, log_config(settings, partition.log.config))
    if partition.state is state:
        return False
    partition.on_state(state, now)
    return True


def log_limits(config: BrokerConfig) -> LogConfig:
    """The bounds on producers that hold for all logs of the broker."""
    return LogConfig(
        producer_expiration_ms=config.number("producer.id.expiration.ms"),
        producers_max=config.number("max.producer.ids.per.partition"),
    )


def log_config(settings: TopicConfig, limits: LogConfig) -> LogConfig:
    return limits._replace(
        segment_bytes=settings.segment_bytes,
        segment_ms=settings.segment_ms,
        index_interval_bytes=settings.index_interval_bytes,
        segment_index_bytes=settings.segment_index_bytes,
    )
