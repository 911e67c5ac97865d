"""Kafka's broker settings that Headrace lacks are refused with what takes their place, not with a name that looks alike."""

import pytest

from headrace.base.errors import UserError
from headrace.cli.config.file import OPTIONS, parse_config
from headrace.cli.run.serve_options import parse_arguments
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.broker_settings import BROKER_SETTINGS
from headrace.cluster.kafka_settings import FIX_OF, unknown_broker_setting


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("node.id", ["id"]),
        ("broker.id", ["id"]),
        ("host.name", ["host", "port"]),
        ("advertised.host.name", ["advertised-host"]),
        ("log.dirs", ["data"]),
        ("controller.quorum.voters", ["store"]),
        ("metric.reporters", ["metrics-port"]),
    ],
)
def test_a_setting_with_another_place_is_refused_with_that(name: str, options: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        parse_config("f.toml", f'[broker]\n{name} = "1"\n')
    assert refused.value.cause == f"f.toml:2: there is no setting {name}"
    assert "[serve]" in refused.value.fix and "mean" not in refused.value.fix
    for option in options:
        assert option in refused.value.fix and option in OPTIONS["serve"]
        parse_arguments([f"--{option}=1"])
    with pytest.raises(UserError, match=f"there is no setting {name}"):
        BrokerConfig({name: "1"})


@pytest.mark.parametrize("name", ["process.roles", "ssl.keystore.password", "num.io.threads", "group.share.max.size"])
def test_a_setting_without_a_place_is_to_be_left_out(name: str) -> None:
    assert unknown_broker_setting(name).fix.startswith("leave it out: ")


def test_a_mistyped_name_still_gets_the_nearest() -> None:
    assert unknown_broker_setting("num.partition").fix == "Did you mean num.partitions?"
    assert unknown_broker_setting("nothing.like.that").fix == ""


def test_what_there_is_is_not_said_to_be_missing() -> None:
    assert [name for name in BROKER_SETTINGS if name in FIX_OF] == []


def test_a_mistyped_name_of_one_listener_gets_the_nearest_that_a_listener_has() -> None:
    assert unknown_broker_setting("listener.name.out.ssl.keystore.locaton").fix == (
        "Did you mean listener.name.out.ssl.keystore.location?"
    )
