import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.settings import SettingError, UnknownSetting, render
from headrace.cluster.broker_config import BrokerConfig, Source
from headrace.cluster.broker_settings import BROKER_SETTINGS, settings_for
from headrace.cluster.topic_config import (
    TopicConfig,
    attribute,
    default_topic_config,
    effective_topic_config,
    topic_config,
    validate_topic_config,
    validate_topic_overrides,
)
from headrace.cluster.topic_settings import HOUR_MS, TOPIC_SETTINGS

PLAIN = default_topic_config(BrokerConfig())


def test_the_typed_form_has_every_setting() -> None:
    assert set(TopicConfig._fields) == {attribute(name) for name in TOPIC_SETTINGS}


@pytest.mark.parametrize("name", [*TOPIC_SETTINGS, *BROKER_SETTINGS])
def test_every_default_is_a_value_its_setting_takes(name: str) -> None:
    for setting in (TOPIC_SETTINGS[name].setting if name in TOPIC_SETTINGS else None, BROKER_SETTINGS.get(name)):
        if setting is not None and setting.default is not None:
            assert setting.parse(render(setting.default) or "") == setting.default


def test_the_defaults_users_count_on() -> None:
    assert PLAIN.flush_messages == 1
    assert PLAIN.is_durable
    assert PLAIN.max_message_bytes == 1_048_588
    assert PLAIN.retention_ms == 604_800_000
    assert PLAIN.cleanup_policy == ("delete",)
    assert not PLAIN.stamps_append_time


def test_a_topics_own_value_comes_first_then_dynamic_then_given_at_start() -> None:
    static, default, own = ({"log.segment.bytes": str(n * 2**20)} for n in (1, 2, 3))
    broker = BrokerConfig(static, own, default)
    entry = effective_topic_config({"segment.bytes": "4194304"}, broker)["segment.bytes"]
    assert (entry.value, entry.source) == (4194304, Source.TOPIC)
    assert [(each.name, each.text, each.source) for each in entry.synonyms] == [
        ("segment.bytes", "4194304", 1),
        ("log.segment.bytes", "3145728", 2),
        ("log.segment.bytes", "2097152", 3),
        ("log.segment.bytes", "1048576", 4),
        ("log.segment.bytes", "1073741824", 5),
    ]
    assert default_topic_config(broker).segment_bytes == 3145728
    assert default_topic_config(broker.with_dynamic({}, {})).segment_bytes == 1048576


def test_set_to_the_default_is_still_set() -> None:
    assert effective_topic_config({"retention.ms": "604800000"}, BrokerConfig())["retention.ms"].source == Source.TOPIC
    assert effective_topic_config({}, BrokerConfig())["retention.ms"].source == Source.DEFAULT


def test_hours_and_minutes_are_scaled_and_the_finer_unit_wins() -> None:
    assert default_topic_config(BrokerConfig({"log.retention.hours": "2"})).retention_ms == 2 * HOUR_MS
    both = BrokerConfig({"log.retention.hours": "2", "log.retention.minutes": "3"})
    assert default_topic_config(both).retention_ms == 180_000
    assert default_topic_config(BrokerConfig({"log.retention.hours": "-1"})).retention_ms == -1
    entry = effective_topic_config({}, BrokerConfig({"log.roll.hours": "1"}))["segment.ms"]
    assert (entry.text, entry.synonyms[0].name, entry.synonyms[0].text) == ("3600000", "log.roll.hours", "1")


def test_the_cheap_form_agrees_with_the_full_one() -> None:
    broker = BrokerConfig({"log.cleanup.policy": "compact", "min.insync.replicas": "2"})
    overrides = {"flush.messages": "1000", "message.timestamp.type": "LogAppendTime"}
    cheap = topic_config(overrides, default_topic_config(broker))
    for name, entry in effective_topic_config(overrides, broker).items():
        assert getattr(cheap, attribute(name)) == entry.value
    assert cheap.compacts
    assert not cheap.deletes
    assert cheap.stamps_append_time


def test_no_override_shares_one_object() -> None:
    assert topic_config({}, PLAIN) is PLAIN


@given(st.dictionaries(st.text(), st.text()))
def test_what_another_version_stored_never_stops_us(overrides: dict[str, str]) -> None:
    assert topic_config({**overrides, "segment.bytes": "many"}, PLAIN) == PLAIN
    assert effective_topic_config({"segment.bytes": "many"}, BrokerConfig())["segment.bytes"].source == Source.DEFAULT


def test_refusals_name_setting_value_and_range() -> None:
    with pytest.raises(SettingError, match=r"segment\.bytes cannot be '10'.* from 1048576 to 2147483647"):
        validate_topic_config("segment.bytes", "10")
    with pytest.raises(UnknownSetting, match=r"retention\.ms"):
        validate_topic_config("retention.mss", "10")
    with pytest.raises(SettingError, match=r"max\.compaction\.lag\.ms"):
        validate_topic_overrides({"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"}, PLAIN)


def test_settings_for_a_cluster_of_a_size() -> None:
    for brokers, factor, in_sync in [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (7, "3", "2")]:
        expected = {"default.replication.factor": factor, "min.insync.replicas": in_sync}
        assert settings_for(brokers) == expected
