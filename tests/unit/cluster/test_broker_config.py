import pytest

from headrace.base.settings import SettingError, UnknownSetting
from headrace.cluster.broker_config import BrokerConfig, Source


def test_values_by_kind() -> None:
    config = BrokerConfig({"num.partitions": "4", "auto.create.topics.enable": "false", "broker.rack": "a"})
    assert config.number("num.partitions") == 4
    assert config.flag("auto.create.topics.enable") is False
    assert config.string("broker.rack") == "a"
    assert config.number("fetch.max.bytes") == 57_671_680
    assert config.number("socket.request.max.bytes") == 104_857_600


def test_a_wrong_value_at_start_is_refused() -> None:
    with pytest.raises(SettingError, match=r"num\.partitions"):
        BrokerConfig({"num.partitions": "0"})
    with pytest.raises(UnknownSetting, match=r"num\.partitions"):
        BrokerConfig({"num.partitons": "1"})


def test_sources() -> None:
    config = BrokerConfig({"num.partitions": "2"}, {"num.partitions": "4"}, {"num.partitions": "3"})
    entry = config.effective()["num.partitions"]
    assert (entry.text, entry.source) == ("4", Source.DYNAMIC_BROKER)
    assert [each.text for each in entry.synonyms] == ["4", "3", "2", "1"]
    assert config.with_dynamic({}, {"num.partitions": "3"}).number("num.partitions") == 3


def test_a_dynamic_value_of_a_setting_read_at_start_does_not_count() -> None:
    assert BrokerConfig({}, {"broker.rack": "a"}).value("broker.rack") is None


def test_a_dynamic_value_of_another_version_does_not_count() -> None:
    assert BrokerConfig({}, {"num.partitions": "auto", "new.setting": "1"}).number("num.partitions") == 1
