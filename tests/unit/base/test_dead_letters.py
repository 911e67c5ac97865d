"""What a dead letter says of itself, and that its origin can be read back."""

from headrace.base.dead_letters import (
    SPARK_REASON,
    Origin,
    dead_letter_headers,
    former_headers,
    origin_of,
    own_headers,
)

ORIGIN = Origin("orders", 3, 17, 1_700_000_000_000)


def test_headers_name_reason_and_origin() -> None:
    told = dict(dead_letter_headers(ORIGIN, "not JSON", {"tries": "12"}))
    assert told == {
        "headrace-dead-letter-reason": b"not JSON",
        "headrace-dead-letter-tries": b"12",
        "headrace-dead-letter-topic": b"orders",
        "headrace-dead-letter-partition": b"3",
        "headrace-dead-letter-offset": b"17",
        "headrace-dead-letter-timestamp": b"1700000000000",
    }


def test_names_of_before() -> None:
    told = dict(former_headers(ORIGIN, "not JSON", SPARK_REASON))
    assert told == {
        "headrace.reason": b"not JSON",
        "headrace.topic": b"orders",
        "headrace.partition": b"3",
        "headrace.offset": b"17",
    }


def test_an_origin_comes_back() -> None:
    headers = [("mine", None), *dead_letter_headers(ORIGIN, "late")]
    assert origin_of({name: (text or b"").decode() for name, text in headers}) == ORIGIN
    assert own_headers(headers) == [("mine", None)]


def test_headers_of_others_have_no_origin() -> None:
    assert origin_of({}) is None
    broken = dict(dead_letter_headers(ORIGIN, "x"))
    assert (
        origin_of({name: text.decode() for name, text in broken.items()} | {"headrace-dead-letter-offset": "x"}) is None
    )
