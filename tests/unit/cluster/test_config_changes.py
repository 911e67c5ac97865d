from collections.abc import Mapping

import pytest
from ledger import Ledger

from headrace.base.errors import Refused
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import NewTopic, create_topic
from headrace.cluster.config_changes import (
    Edit,
    Operation,
    alter_broker_config,
    alter_topic_config,
    replace_broker_config,
    replace_topic_config,
)
from headrace.wire.codes import ErrorCode

SET, DELETE, APPEND, SUBTRACT = Operation
DEFAULTS = BrokerConfig()


@pytest.fixture
def ledger() -> Ledger:
    ledger = Ledger(1)
    ledger.run(create_topic(ledger.image, {1}, NewTopic("t", 2, 1), bytes(16), DEFAULTS).commits)
    return ledger


def altered(ledger: Ledger, *edits: Edit, defaults: BrokerConfig = DEFAULTS) -> Mapping[str, str]:
    ledger.run([alter_topic_config(ledger.image, "t", edits, defaults)])
    assert len(ledger.image.topics["t"].partitions) == 2
    return ledger.image.topics["t"].config


def test_set_and_delete(ledger: Ledger) -> None:
    assert altered(ledger, Edit("retention.ms", SET, "5"), Edit("flush.messages", SET, "9")) == {
        "retention.ms": "5",
        "flush.messages": "9",
    }
    assert altered(ledger, Edit("retention.ms", DELETE), Edit("segment.ms", DELETE)) == {"flush.messages": "9"}


def test_a_list_is_appended_to_from_what_counts_now(ledger: Ledger) -> None:
    assert altered(ledger, Edit("cleanup.policy", APPEND, "compact")) == {"cleanup.policy": "delete,compact"}
    assert altered(ledger, Edit("cleanup.policy", APPEND, "compact")) == {"cleanup.policy": "delete,compact"}
    assert altered(ledger, Edit("cleanup.policy", SUBTRACT, "delete")) == {"cleanup.policy": "compact"}
    assert altered(ledger, Edit("cleanup.policy", DELETE)) == {}
    compacting = BrokerConfig({"log.cleanup.policy": "compact"})
    appended = altered(ledger, Edit("cleanup.policy", APPEND, "delete"), defaults=compacting)
    assert appended == {"cleanup.policy": "compact,delete"}


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        ([Edit("nope", SET, "1")], ErrorCode.INVALID_CONFIG),
        ([Edit("nope", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([Edit("segment.bytes", SET, "1")], ErrorCode.INVALID_CONFIG),
        ([Edit("segment.bytes", APPEND, "1")], ErrorCode.INVALID_CONFIG),
        ([Edit("cleanup.policy", APPEND, "burn")], ErrorCode.INVALID_CONFIG),
        ([Edit("segment.ms", SET, None)], ErrorCode.INVALID_REQUEST),
        ([Edit("segment.ms", SET, "5"), Edit("segment.ms", DELETE)], ErrorCode.INVALID_REQUEST),
    ],
)
def test_edits_that_are_refused(ledger: Ledger, edits: list[Edit], code: ErrorCode) -> None:
    with pytest.raises(Refused) as refused:
        alter_topic_config(ledger.image, "t", edits, DEFAULTS)
    assert refused.value.code == code


def test_an_unknown_topic(ledger: Ledger) -> None:
    with pytest.raises(Refused) as refused:
        alter_topic_config(ledger.image, "nope", [], DEFAULTS)
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_old_way_replaces_everything(ledger: Ledger) -> None:
    altered(ledger, Edit("retention.ms", SET, "5"))
    ledger.run([replace_topic_config(ledger.image, "t", {"segment.ms": "7"}, DEFAULTS)])
    assert ledger.image.topics["t"].config == {"segment.ms": "7"}


def test_settings_of_one_broker_and_of_all(ledger: Ledger) -> None:
    ledger.run([alter_broker_config(ledger.image, None, [Edit("log.retention.ms", SET, "5")], DEFAULTS)])
    ledger.run([alter_broker_config(ledger.image, 1, [Edit("log.retention.ms", SET, "6")], DEFAULTS)])
    assert ledger.image.overrides_of(None) == {"log.retention.ms": "5"}
    assert ledger.image.overrides_of(1) == {"log.retention.ms": "6"}
    assert ledger.image.overrides_of(2) == {}
    ledger.run([alter_broker_config(ledger.image, 1, [Edit("log.retention.ms", DELETE)], DEFAULTS)])
    assert ledger.image.overrides_of(1) == {}
    assert "config/brokers/1" not in ledger.entries
    ledger.run([alter_broker_config(ledger.image, None, [Edit("log.cleanup.policy", APPEND, "compact")], DEFAULTS)])
    assert ledger.image.overrides_of(None)["log.cleanup.policy"] == "delete,compact"


@pytest.mark.parametrize(
    ("broker", "config"),
    [
        (1, {"broker.rack": "a"}),
        (1, {"node.id": "2"}),
        (1, {"log.segment.bytes": "1"}),
        (1, {"nope": "1"}),
        (9, {"log.segment.bytes": "1048576"}),
    ],
)
def test_broker_settings_that_are_refused(ledger: Ledger, broker: int, config: dict[str, str]) -> None:
    with pytest.raises(Refused) as refused:
        replace_broker_config(ledger.image, broker, config)
    assert refused.value.code == ErrorCode.INVALID_REQUEST


@pytest.fixture
def offsets() -> Ledger:
    ledger = Ledger(1)
    config = {"cleanup.policy": "compact", "flush.messages": "1", "segment.bytes": "2000000"}
    new = NewTopic("__consumer_offsets", 2, 1, config)
    ledger.run(create_topic(ledger.image, {1}, new, bytes(16), DEFAULTS).commits)
    return ledger


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flush.messages", "1000"),
        ("flush.ms", "500"),
        ("cleanup.policy", "delete"),
        ("cleanup.policy", "compact,delete"),
    ],
)
def test_an_internal_topic_stays_durable_and_compacted(offsets: Ledger, name: str, text: str) -> None:
    for change in (
        lambda: alter_topic_config(offsets.image, "__consumer_offsets", [Edit(name, SET, text)], DEFAULTS),
        lambda: replace_topic_config(offsets.image, "__consumer_offsets", {name: text}, DEFAULTS),
    ):
        with pytest.raises(Refused) as refused:
            change()
        assert refused.value.code == ErrorCode.INVALID_CONFIG
        assert name in refused.value.message


def test_replacing_all_settings_of_an_internal_topic_keeps_what_it_needs(offsets: Ledger) -> None:
    offsets.run([replace_topic_config(offsets.image, "__consumer_offsets", {"segment.ms": "9"}, DEFAULTS)])
    assert offsets.image.topics["__consumer_offsets"].config == {
        "segment.ms": "9",
        "cleanup.policy": "compact",
        "flush.messages": "1",
    }
    deletion = [Edit("flush.messages", DELETE)]
    offsets.run([alter_topic_config(offsets.image, "__consumer_offsets", deletion, DEFAULTS)])
    assert offsets.image.topics["__consumer_offsets"].config["flush.messages"] == "1"
