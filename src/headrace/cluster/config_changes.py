"""Changes of settings as calculations: set, delete, append and subtract, as IncrementalAlterConfigs has them, and the
older way that replaces everything. Checked before anything is written, so stored settings always parse."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from headrace.base.errors import Refused
from headrace.base.settings import Kind, Setting, SettingError, UnknownSetting, render
from headrace.cluster.broker_config import BrokerConfig, parse_broker_setting
from headrace.cluster.broker_settings import broker_setting
from headrace.cluster.changes import check_topic_overrides, known_topic
from headrace.cluster.entities import BrokerOverrides
from headrace.cluster.image import Image
from headrace.cluster.internal_topics import with_required
from headrace.cluster.records import EVERY_BROKER, TopicRecord, broker_config_key, encode, topic_key
from headrace.cluster.store import ABSENT, Commit
from headrace.cluster.topic_config import default_topic_config, topic_config
from headrace.cluster.topic_settings import TOPIC_SETTINGS
from headrace.wire.codes import ErrorCode


class Operation(IntEnum):
    """The operations on a setting, numbered as IncrementalAlterConfigs numbers them."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Edit(NamedTuple):
    name: str
    operation: Operation
    text: str | None = None


def alter_topic_config(image: Image, name: str, edits: Sequence[Edit], defaults: BrokerConfig) -> Commit:
    topic = known_topic(image, name)
    settings = {each: declared.setting for each, declared in TOPIC_SETTINGS.items()}
    in_force = topic_config(topic.config, default_topic_config(defaults))
    current = {each: render(getattr(in_force, each.replace(".", "_"))) or "" for each in _lists_edited(edits, settings)}
    return replace_topic_config(image, name, _edited(topic.config, edits, settings, current), defaults)


def replace_topic_config(image: Image, name: str, config: Mapping[str, str], defaults: BrokerConfig) -> Commit:
    topic = known_topic(image, name)
    check_topic_overrides(config, defaults)
    config = with_required(name, config)
    record = TopicRecord(topic.id, len(topic.partitions), config)
    return Commit({topic_key(name): encode(record)}, {topic_key(name): topic.revision})


def alter_broker_config(image: Image, broker_id: int | None, edits: Sequence[Edit], effective: BrokerConfig) -> Commit:
    """Changes the settings of one broker, or with None of all. `effective` has the lists that are appended to."""
    declared = {each.name: setting for each in edits if (setting := broker_setting(each.name)) is not None}
    current = {each: render(effective.value(each)) or "" for each in _lists_edited(edits, declared)}
    config = _edited(image.overrides_of(broker_id), edits, declared, current)
    return replace_broker_config(image, broker_id, config)


def replace_broker_config(image: Image, broker_id: int | None, config: Mapping[str, str]) -> Commit:
    if broker_id is not None and broker_id not in image.brokers:
        raise Refused(ErrorCode.INVALID_REQUEST, f"there is no broker {broker_id}")
    for name, text in config.items():
        _check_broker_setting(name, text)
    before = image.broker_overrides.get(EVERY_BROKER if broker_id is None else str(broker_id))
    key = broker_config_key(broker_id)
    value = encode(BrokerOverrides(config)) if config else None
    return Commit({key: value}, {key: ABSENT if before is None else before.revision})


def _check_broker_setting(name: str, text: str) -> None:
    try:
        parse_broker_setting(name, text)
    except (SettingError, UnknownSetting) as error:
        raise Refused(ErrorCode.INVALID_REQUEST, str(error)) from error
    declared = broker_setting(name)
    if declared is None or not declared.dynamic:
        raise Refused(ErrorCode.INVALID_REQUEST, f"{name} is read when a broker starts; it cannot change while it runs")


def _lists_edited(edits: Sequence[Edit], settings: Mapping[str, Setting]) -> list[str]:
    known = [each.name for each in edits if each.name in settings]
    return [name for name in known if settings[name].kind is Kind.LIST]


def _edited(
    before: Mapping[str, str], edits: Sequence[Edit], settings: Mapping[str, Setting], lists: Mapping[str, str]
) -> dict[str, str]:
    """The overrides after the edits. `lists` holds the value in force of each edited list: appending starts there."""
    if len({each.name for each in edits}) < len(edits):
        raise Refused(ErrorCode.INVALID_REQUEST, "a setting is named twice in one request")
    after = dict(before)
    for name, operation, text in edits:
        if operation is Operation.DELETE:
            after.pop(name, None)
        elif text is None:
            raise Refused(ErrorCode.INVALID_REQUEST, f"{name} is given no value")
        elif operation is Operation.SET:
            after[name] = text
        else:
            after[name] = _edit_list(name, operation, text, settings, lists)
    return after


def _edit_list(
    name: str, operation: Operation, text: str, settings: Mapping[str, Setting], lists: Mapping[str, str]
) -> str:
    if name in settings and name not in lists:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{name} is not a list: set it instead")
    words = _words(lists.get(name, ""))
    if operation is Operation.APPEND:
        return ",".join(dict.fromkeys([*words, *_words(text)]))
    gone = _words(text)
    return ",".join(word for word in words if word not in gone)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
