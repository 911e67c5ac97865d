import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.base.errors import UserError
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.options import parse_pairs
from headrace.cli.run.serve_options import ServeOptions, parse_arguments
from headrace.cli.run.status_line import Failed, ReadyStatus, StatusPipe, parse_status
from headrace.cli.up.up import default_settings
from headrace.testing.broker import kafka_settings

names = st.from_regex(r"[a-z][a-z.]{0,20}", fullmatch=True)
words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@given(
    st.builds(
        ServeOptions,
        id=st.integers(0, 1000),
        port=st.integers(0, 65535),
        advertised_host=words,
        data=words.filter(bool),
        store=words,
        metrics_port=st.integers(0, 65535),
        rack=words,
        allow_insecure_network=st.booleans(),
        settings=st.dictionaries(names, words, max_size=3),
        log_format=st.sampled_from(["text", "json"]),
        ready_fd=st.integers(-1, 10),
    )
)
def test_both_spellings_of_serve_mean_the_same(options: ServeOptions) -> None:
    assert parse_arguments(options.to_arguments()) == options


def test_serve_takes_what_every_command_takes() -> None:
    options = parse_arguments(["--json", "--bootstrap", "127.0.0.1:9092", "--set", "a=b=c"])
    assert options.log_format == "json"
    assert options.settings == {"a": "b=c"}


@pytest.mark.parametrize("number", ["-1", "2147483648", "one"])
def test_what_is_no_number_of_a_broker(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        parse_arguments([f"--id={number}"])
    assert refused.value.code == ExitCode.USAGE
    assert f"{number!r} is no number of a broker" in capsys.readouterr().err


def test_a_root_holds_each_brokers_directory_and_the_store() -> None:
    options = ServeOptions(id=3, data="/somewhere")
    assert options.broker_data == "/somewhere/broker-3"
    assert options.store_path == "/somewhere/meta/metadata.sqlite"
    assert ServeOptions(store="/other").store_path == "/other"


@pytest.mark.parametrize("pair", ["novalue", "=value", " =x"])
def test_pairs_need_a_name_and_a_value(pair: str) -> None:
    with pytest.raises(Failure) as refused:
        parse_pairs([pair], "--config")
    assert refused.value.code is ExitCode.USAGE
    with pytest.raises(UserError, match="NAME=VALUE"):
        parse_arguments(["--set", pair])


def test_pairs() -> None:
    assert parse_pairs(["a=1", "b=x=y", "c="], "--config") == {"a": "1", "b": "x=y", "c": ""}


@pytest.mark.parametrize(("brokers", "copies", "in_sync"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (9, "3", "2")])
def test_up_keeps_three_copies_where_it_can(brokers: int, copies: str, in_sync: str) -> None:
    assert default_settings(brokers) == {"default.replication.factor": copies, "min.insync.replicas": in_sync}


def test_status_lines_come_back_as_they_were() -> None:
    assert parse_status(b'{"status": "failed", "error": "e", "fix": "f"}') == Failed("e", "f")
    line = b'{"status": "ready", "id": 1, "host": "h", "port": 2, "metrics_port": 3, "pid": 4}'
    assert parse_status(line) == ReadyStatus(1, "h", 2, 3, 4)


@pytest.mark.parametrize("status", [ReadyStatus(1, "h", 2, 3, 4), Failed("e", "f")])
def test_a_supervisor_reads_what_a_broker_told(status: ReadyStatus | Failed) -> None:
    reading, writing = os.pipe()
    try:
        StatusPipe(writing).tell(status)
        assert parse_status(os.read(reading, 4096)) == status
    finally:
        os.close(reading)
        os.close(writing)


def test_settings_of_a_test_broker_by_either_spelling() -> None:
    given_settings = {"num.partitions": 4, "auto_create_topics_enable": False, "log_retention_ms": "5"}
    assert kafka_settings(given_settings) == {
        "num.partitions": "4",
        "auto.create.topics.enable": "false",
        "log.retention.ms": "5",
    }
