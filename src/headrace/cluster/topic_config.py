"""A topic's settings in force: its own overrides first, then the broker's, then the declared default.

`TopicConfig` is the cheap form for the hot path, computed once per change: an attribute for each setting, named after
it. `effective_topic_config` is the full form for DescribeConfigs, with sources and synonyms.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from headrace.base.settings import Setting, SettingError, UnknownSetting, Value, render
from headrace.cluster.broker_config import BrokerConfig, Effective, Found, Source, parse_broker_setting, parses
from headrace.cluster.topic_settings import TOPIC_SETTINGS, TopicSetting


class TopicConfig(NamedTuple):
    cleanup_policy: tuple[str, ...]
    compression_type: str
    compression_gzip_level: int
    compression_lz4_level: int
    compression_zstd_level: int
    delete_retention_ms: int
    file_delete_delay_ms: int
    flush_messages: int
    flush_ms: int
    follower_replication_throttled_replicas: tuple[str, ...]
    leader_replication_throttled_replicas: tuple[str, ...]
    headrace_restoring: str
    index_interval_bytes: int
    local_retention_bytes: int
    local_retention_ms: int
    max_compaction_lag_ms: int
    max_message_bytes: int
    message_timestamp_type: str
    message_timestamp_before_max_ms: int
    message_timestamp_after_max_ms: int
    min_cleanable_dirty_ratio: float
    min_compaction_lag_ms: int
    min_insync_replicas: int
    preallocate: bool
    remote_storage_enable: bool
    remote_log_copy_disable: bool
    remote_log_delete_on_disable: bool
    retention_bytes: int
    retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    segment_jitter_ms: int
    segment_ms: int
    unclean_leader_election_enable: bool

    @property
    def compacts(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def deletes(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def is_durable(self) -> bool:
        """Whether every acknowledged record is on disk."""
        return self.flush_messages == 1

    @property
    def stamps_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"


@lru_cache(maxsize=16)
def default_topic_config(broker: BrokerConfig) -> TopicConfig:
    """The settings of a topic without overrides: most have none.

    Worked out once for each `BrokerConfig`, which never changes: a change makes another.
    """
    return TopicConfig(**{attribute(name): _broker_value(each, broker) for name, each in TOPIC_SETTINGS.items()})  # type: ignore[arg-type]


def topic_config(overrides: Mapping[str, str], default: TopicConfig) -> TopicConfig:
    """The settings in force: `default` with a topic's own overrides."""
    known = _known(overrides)
    if not known:
        return default
    return default._replace(**{attribute(name): validate_topic_config(name, text) for name, text in known.items()})  # type: ignore[arg-type]


def _known(overrides: Mapping[str, str]) -> dict[str, str]:
    """The overrides that parse. They were checked when altered: one that does not parse was written by another version."""
    return {name: text for name, text in overrides.items() if name in TOPIC_SETTINGS and parses(_setting(name), text)}


def attribute(name: str) -> str:
    return name.replace(".", "_")


def validate_topic_config(name: str, text: str) -> Value:
    """The value of a text, or `SettingError` / `UnknownSetting`."""
    return _setting(name).parse(text)


def validate_topic_overrides(overrides: Mapping[str, str], default: TopicConfig) -> TopicConfig:
    """Checks the overrides one by one and together; returns the settings in force."""
    own = {attribute(name): validate_topic_config(name, text) for name, text in overrides.items()}
    config = default._replace(**own)  # type: ignore[arg-type]
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        allowed = f"at most max.compaction.lag.ms, which is {config.max_compaction_lag_ms}"
        raise SettingError("min.compaction.lag.ms", str(config.min_compaction_lag_ms), allowed)
    return config


def effective_topic_config(overrides: Mapping[str, str], broker: BrokerConfig) -> dict[str, Effective]:
    known = _known(overrides)
    return {name: _effective(known.get(name), each, broker) for name, each in TOPIC_SETTINGS.items()}


def _effective(override: str | None, topic_setting: TopicSetting, broker: BrokerConfig) -> Effective:
    setting, synonyms = topic_setting
    below = [found for _, found in broker.found_synonyms(synonyms)]
    # An explicitly set value has source 1 even where it equals the default: tools decide by it what they may reset.
    own = [] if override is None else [Found(setting.name, override, Source.TOPIC)]
    default_name = synonyms[0].name if synonyms else setting.name
    default = Found(default_name, render(setting.default), Source.DEFAULT)
    value = _broker_value(topic_setting, broker) if override is None else setting.parse(override)
    return Effective(setting, value, (*own, *below, default))


def _broker_value(topic_setting: TopicSetting, broker: BrokerConfig) -> Value:
    for synonym, found in broker.found_synonyms(topic_setting.synonyms):
        value = parse_broker_setting(synonym.name, found.text or "")
        # A negative number means "no limit", in hours as in milliseconds.
        return value * synonym.scale if synonym.scale > 1 and isinstance(value, int) and value > 0 else value
    return topic_setting.setting.default


def _setting(name: str) -> Setting:
    try:
        return TOPIC_SETTINGS[name].setting
    except KeyError:
        raise UnknownSetting(name, TOPIC_SETTINGS) from None
