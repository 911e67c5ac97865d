"""What a receiver gets, how it is signed, and that a dead letter comes back as it was."""

import base64
import hashlib
import hmac
import json

import pytest

from headrace.gateway.webhooks.letter import Letter, body_of, delivery_id, from_dead_letter, to_dead_letter
from headrace.gateway.webhooks.retry import RetryPolicy
from headrace.gateway.webhooks.signature import new_secret, signed_headers, signing_key
from headrace.gateway.webhooks.subscription import Subscription, from_record
from headrace.wire.records import Record

LETTER = Letter("orders", 3, Record(17, 1_700_000_000_000, b"key", b"\xff\x00", [("a", b"1"), ("a", None)]))
SUBSCRIPTION = Subscription(
    id="wh-1",
    topic="orders",
    group="webhook.wh-1",
    callback_url="https://example.com/",
    secret="whsec_" + "A" * 44,
    dead_letter_topic="orders.dead-letters",
    messages_max=10,
    timeout_ms=1000,
    retry=RetryPolicy(),
    state="active",
    created_ms=1,
    redrive_until={0: 7, 12: 0},
)


def test_a_body_has_ids_and_places() -> None:
    body = json.loads(body_of("wh-1", [LETTER]))
    assert body == {
        "subscription": "wh-1",
        "messages": [
            {
                "id": "orders-3-17",
                "topic": "orders",
                "partition": 3,
                "offset": 17,
                "key": "key",
                "value": "/wA=",
                "encoding": "base64",
                "timestamp": 1_700_000_000_000,
                "headers": [["a", "1"], ["a", None]],
            }
        ],
    }


def test_the_id_of_a_delivery_is_the_same_at_every_try() -> None:
    assert delivery_id("wh-1", [LETTER, LETTER]) == delivery_id("wh-1", [LETTER, LETTER]) == "wh-1.orders-3-17.2"


def test_a_dead_letter_comes_back_as_it_was() -> None:
    dead = to_dead_letter(LETTER, "wh-1", "HTTP 500", 12, now_ms=5)
    stored = dead._replace(offset=99, timestamp=5)
    assert dict(dead.headers)["headrace-dead-letter-reason"] == b"HTTP 500"
    assert from_dead_letter(stored, "wh-1") == LETTER
    assert from_dead_letter(stored, "wh-2") is None


def test_what_others_wrote_there_is_passed_over() -> None:
    assert from_dead_letter(Record(0, 0, b"k", b"v"), "wh-1") is None
    broken = Record(
        0, 0, b"k", b"v", [("headrace-dead-letter-subscription", b"wh-1"), ("headrace-dead-letter-offset", b"x")]
    )
    assert from_dead_letter(broken, "wh-1") is None


def test_signatures_can_be_checked_with_the_secret_alone() -> None:
    secret = new_secret()
    headers = signed_headers(secret, "id-1", 1_700_000_000, b"{}")
    key = base64.b64decode(secret.removeprefix("whsec_"))
    expected = base64.b64encode(hmac.new(key, b"id-1.1700000000.{}", hashlib.sha256).digest()).decode()
    assert headers == {
        "webhook-id": "id-1",
        "webhook-timestamp": "1700000000",
        "webhook-signature": f"v1,{expected}",
    }


def test_a_secret_is_base64_or_plain() -> None:
    assert signing_key("whsec_AAAA") == b"\0\0\0"
    assert signing_key("plain text") == b"plain text"
    with pytest.raises(ValueError):
        signing_key("whsec_not base64")


def test_a_subscription_survives_its_record() -> None:
    assert from_record(SUBSCRIPTION.to_record()) == SUBSCRIPTION


def test_secrets_are_in_no_view_and_no_log() -> None:
    assert SUBSCRIPTION.secret not in json.dumps(SUBSCRIPTION.view())
    assert SUBSCRIPTION.secret not in repr(SUBSCRIPTION)


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b"{}", b'{"format":2}', b'{"format":1}', b"\xff"])
def test_other_records_are_left_alone(value: bytes) -> None:
    assert from_record(value) is None
