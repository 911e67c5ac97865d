import pytest

from headrace.cli.explain import explained
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.output import as_text, count_of
from headrace.cli.reachable import parse_bootstrap


def test_bootstrap_addresses() -> None:
    assert parse_bootstrap("a:1, [::1]:9092,b.example:65535") == [("a", 1), ("::1", 9092), ("b.example", 65535)]


@pytest.mark.parametrize("text", ["", "a", "a:", ":1", "a:0", "a:65536", "a:1,", "a:x"])
def test_bad_bootstrap_addresses(text: str) -> None:
    with pytest.raises(Failure, match="HOST:PORT") as refused:
        parse_bootstrap(text)
    assert refused.value.code is ExitCode.USAGE


def test_a_known_code_is_explained_with_its_topic() -> None:
    from confluent_kafka import KafkaError

    failure = explained(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS, "it is there."), "not created", "orders")
    assert failure.code is ExitCode.REFUSED
    assert failure.cause == "not created: it is there"
    assert "topic alter orders" in failure.fix


def test_an_unknown_code_is_a_plain_failure() -> None:
    from confluent_kafka import KafkaError

    failure = explained(KafkaError(KafkaError.INVALID_RECORD, "odd"))
    assert (failure.code, failure.cause, failure.fix) == (ExitCode.FAILED, "odd", "")


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (True, "yes"), (False, "no"), ([1, 2], "1,2"), ([], "-"), (7, "7")]
)
def test_cells(value: object, text: str) -> None:
    assert as_text(value) == text


def test_counts_read_well() -> None:
    assert [count_of(1, "topic"), count_of(2000, "batch")] == ["1 topic", "2,000 batches"]
