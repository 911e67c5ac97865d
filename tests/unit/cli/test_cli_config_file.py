"""The configuration file: what it means, and how each mistake is told with its line and the nearest name."""

import pytest

from headrace.cli.config.file import OPTIONS, parse_config
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.run.gateway_config import gateway_settings
from headrace.cli.run.reload import compared
from headrace.cli.run.serve_options import ServeOptions

FILE = """
[broker]
num.partitions = 6
"auto.create.topics.enable" = false
group.consumer.assignors = ["range", "uniform"]
[broker.log.retention]
hours = 24
[serve]
port = 9192
metrics-port = 0
[up]
brokers = 3
end-stopped-after = 5
[gateway]
messages-max = 500
"""
PER_IP = 'put the longer name in quotes: "max.connections.per.ip" = …'


def test_names_are_kafkas_with_or_without_quotes() -> None:
    file = parse_config("f.toml", FILE)
    assert file.broker == {
        "num.partitions": "6",
        "auto.create.topics.enable": "false",
        "group.consumer.assignors": "range,uniform",
        "log.retention.hours": "24",
    }
    assert file.of("serve") == {"port": 9192, "metrics_port": 0}
    assert file.of("up") == {"brokers": 3, "end_stopped_after": 5}
    assert file.gateway == {"messages_max": 500}
    assert file.place("broker", "log.retention.hours") == "f.toml:7"
    assert gateway_settings(file, {}).messages_max == 500
    assert gateway_settings(file, {"messages_max": 7}).messages_max == 7


def test_of_two_names_that_begin_alike_the_longer_one_has_quotes() -> None:
    file = parse_config("f.toml", '[broker]\nmax.connections = 9\n"max.connections.per.ip" = 3')
    assert file.broker == {"max.connections": "9", "max.connections.per.ip": "3"}


def test_every_option_of_serve_may_stand_in_a_file() -> None:
    own = {"settings", "config", "ready_fd", "parent_fd"}
    assert {name.replace("-", "_") for name in OPTIONS["serve"]} == vars(ServeOptions()).keys() - own


@pytest.mark.parametrize(
    ("text", "cause", "fix"),
    [
        ("[broker]\nnum.partition = 3", "f.toml:2: there is no setting num.partition", "Did you mean num.partitions?"),
        ("[broker]\n\nnum.partitions = 'x'", "f.toml:3: num.partitions cannot be 'x'", "a whole number from 1"),
        ("[broker.num]\npartitions = 0", "f.toml:2: num.partitions cannot be '0'", "a whole number from 1"),
        ("[brokers]\na = 1", "f.toml:1: there is no section [brokers]", "did you mean broker?"),
        ("num.partitions = 3", "f.toml:1: num.partitions stands in no section", "[broker]"),
        ("port = 3", "f.toml:1: port stands in no section", "[serve]"),
        ("[serve]\nprot = 1", "f.toml:2: [serve] has no option prot", "did you mean port?"),
        ("[serve]\nport = true", "f.toml:2: port cannot be True", "it is a whole number"),
        ("[up]\nlog-level = 'loud'", "f.toml:2: log-level cannot be 'loud'", "one of debug"),
        ("[up]\nno-gateway = 1", "f.toml:2: no-gateway cannot be 1", "true or false"),
        ("[serve]\nport = 70000", "f.toml:2: port cannot be 70000", "a whole number from 0 to 65535"),
        ("[serve]\nid = -1", "f.toml:2: id cannot be -1", "a whole number from 0 to 2147483647"),
        ("[serve]\nlog-files = 0", "f.toml:2: log-files cannot be 0", "a whole number from 1"),
        ("[up]\nbrokers = 0", "f.toml:2: brokers cannot be 0", "a whole number from 1 to 100"),
        ("[up]\nend-stopped-after = -0.5", "f.toml:2: end-stopped-after cannot be -0.5", "a number from 0"),
        ("[serve]\nstore = 'ectd://a:2379/x'", "f.toml:2: there is no metadata store ectd://", "etcd://HOST:PORT"),
        ("[serve]\nstore = 'etcd://a:b/x'", "f.toml:2: etcd://a:b/x: 'a:b' is not HOST:PORT", "Write it like etcd://"),
        ("[serve]\nport = 1\n\nport = 2", "f.toml:4: port stands in [serve] twice, first in line 2", "leave one"),
        ("[[broker]]\nnum.partitions = 1", "f.toml: [[broker]] is a list of sections", "write [broker]"),
        ("a b", "f.toml: this is not TOML", "docs/config-file.md"),
        (
            "[broker]\nmax.connections = 9\nmax.connections.per.ip = 3",
            "f.toml:3: max.connections.per.ip begins",
            PER_IP,
        ),
        (
            "[broker]\nmax.connections.per.ip = 3\nmax.connections = 9",
            "f.toml:2: max.connections.per.ip begins",
            PER_IP,
        ),
        ('[broker]\nmax.connections = 9\n"max.connections.per.ip" = 3\na b', "is not TOML", "docs/config-file.md"),
    ],
)
def test_a_mistake_is_told_with_its_line_and_the_nearest_name(text: str, cause: str, fix: str) -> None:
    with pytest.raises(Failure) as refused:
        parse_config("f.toml", text)
    assert cause in refused.value.cause and fix in refused.value.fix
    assert refused.value.code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[gateway]\nmessage_max = 3", "f.toml:2: [gateway] has no setting message_max"),
        ("[gateway]\nmessages-max = 0", "f.toml:2: messages_max: Input should be greater than 0"),
        ("[gateway]\nlog-level = 'loud'", "f.toml:2: log-level cannot be 'loud'"),
        ("[gateway]\nlog-files = 'all'", "f.toml:2: log-files cannot be 'all'"),
    ],
)
def test_a_mistake_in_the_gateways_section_is_told_with_its_line(text: str, cause: str) -> None:
    with pytest.raises(Failure) as refused:
        gateway_settings(parse_config("f.toml", text), {})
    assert cause in refused.value.cause


def test_a_reload_changes_what_can_change() -> None:
    before = {"num.partitions": "1", "log.retention.hours": "5", "socket.listen.backlog.size": "9"}
    after = {"num.partitions": "2", "socket.listen.backlog.size": "10", "max.connections": "7"}
    settings, now, later = compared(before, after)
    assert settings == {"num.partitions": "2", "socket.listen.backlog.size": "9", "max.connections": "7"}
    assert now == ["log.retention.hours", "max.connections", "num.partitions"]
    assert later == ["socket.listen.backlog.size"]
