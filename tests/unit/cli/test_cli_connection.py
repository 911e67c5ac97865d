import pytest
from confluent_kafka import KafkaError

from headrace.base.errors import Refused
from headrace.cli.explain import explained, explaining
from headrace.cli.failure import ExitCode, Failure
from headrace.cli.messages.librdkafka import client_failure
from headrace.cli.output import as_text, count_of
from headrace.cli.reachable import parse_bootstrap
from headrace.wire.codes import ErrorCode


def test_bootstrap_addresses() -> None:
    assert parse_bootstrap("a:1, [::1]:9092,b.example:65535") == [("a", 1), ("::1", 9092), ("b.example", 65535)]


@pytest.mark.parametrize("text", ["", "a", "a:", ":1", "a:0", "a:65536", "a:1,", "a:x"])
def test_bad_bootstrap_addresses(text: str) -> None:
    with pytest.raises(Failure, match="HOST:PORT") as refused:
        parse_bootstrap(text)
    assert refused.value.code is ExitCode.USAGE


def test_a_known_code_is_explained_with_its_topic() -> None:
    failure = explained(ErrorCode.TOPIC_ALREADY_EXISTS, "it is there.", "not created", "orders")
    assert failure.code is ExitCode.REFUSED
    assert failure.cause == "not created: it is there"
    assert "topic alter orders" in failure.fix


def test_an_unknown_code_is_a_plain_failure() -> None:
    failure = explained(ErrorCode.INVALID_RECORD, "odd")
    assert (failure.code, failure.cause, failure.fix) == (ExitCode.FAILED, "odd", "")


def test_codes_of_librdkafka_are_its_own_or_kafkas() -> None:
    own = client_failure(KafkaError(KafkaError._UNKNOWN_TOPIC), "reading orders stopped", "orders")
    sent = client_failure(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE, "too large"), "not delivered", "orders")
    assert (own.code, "topic create orders" in own.fix) == (ExitCode.NOT_FOUND, True)
    assert (sent.code, sent.cause) == (ExitCode.REFUSED, "not delivered: too large")


def test_a_refusal_becomes_the_failure_of_a_command() -> None:
    with pytest.raises(Failure) as failed, explaining("topic orders was not altered", "orders"):
        raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "there is none.")
    assert (failed.value.code, failed.value.cause) == (
        ExitCode.NOT_FOUND,
        "topic orders was not altered: there is none",
    )


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (True, "yes"), (False, "no"), ([1, 2], "1,2"), ([], "-"), (7, "7")]
)
def test_cells(value: object, text: str) -> None:
    assert as_text(value) == text


def test_counts_read_well() -> None:
    assert [count_of(1, "topic"), count_of(2000, "batch")] == ["1 topic", "2,000 batches"]
