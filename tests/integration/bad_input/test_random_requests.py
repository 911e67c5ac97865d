"""Well-formed requests that mean nothing in particular: every API and version the broker offers, with any values at all.

Each is answered in its own layout or its connection is closed; no handler of ours fails, and the broker serves on.
"""

import random
from collections.abc import Iterator
from typing import Any

import pytest
from watched_broker import WatchedBroker, watched

from clients.raw import RawClient
from clients.raw_records import good_batch
from headrace.wire.apis import APIS
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.metadata import MetadataRequest
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.schema import Field, StructType

ROUNDS = 6
TOPICS = ("known", "other")
WAITS = {"max_wait_ms", "timeout_ms", "rebalance_timeout_ms", "session_timeout_ms"}
INTEGER_BITS = {"b": 8, "h": 16, "i": 32, "q": 64}


@pytest.fixture(scope="module")
def own_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedBroker]:
    """Random requests delete topics and alter settings, so this one is nobody else's."""
    with watched(tmp_path_factory.mktemp("random")) as broker:
        yield broker


class Sampler:
    """Messages of any class and version, with values that are likely to reach past the first test of a handler."""

    def __init__(self, rng: random.Random, topic_ids: list[bytes]) -> None:
        self._rng = rng
        self._topic_ids = topic_ids

    def message(self, cls: StructType, version: int) -> Any:
        fields = [field for field in cls.FIELDS if version in field.versions]
        return cls(**{field.name: self._value(field, version, field.name) for field in fields})

    def _value(self, field: Field, version: int, name: str) -> Any:
        rng = self._rng
        if version in field.nullable and rng.random() < 0.2:
            return None
        match field.kind:
            case "array":
                return [self._value(field.of, version, name) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
            case "struct":
                return self.message(field.of, version)
            case "string":
                return rng.choice((*TOPICS, "", "1", "-1", "x" * 300, "a b", "flush.messages", "../../etc", "ä€"))
            case "bytes":
                return rng.randbytes(rng.choice((0, 1, 16, 130)))
            case "records":
                return rng.choice((b"", rng.randbytes(61), rng.randbytes(200), good_batch(b"v"), good_batch(b"w")[:-1]))
        return self._fixed(field.code, name)

    def _fixed(self, code: str, name: str) -> Any:
        rng = self._rng
        if name in WAITS:
            return rng.choice((-1, 0, 1, 20))
        if code == "?":
            return rng.random() < 0.5
        if code == "d":
            return rng.choice((0.0, -1.0, 1e300))
        if code == "16s":
            return rng.choice((*self._topic_ids, bytes(16), rng.randbytes(16)))
        bits = INTEGER_BITS[code]
        return rng.choice((0, 0, 1, 1, 2, 3, 4, -1, -2, 7, (1 << bits - 1) - 1, -(1 << bits - 1)))


def create_topics(client: RawClient) -> list[bytes]:
    """They may be there, or a request before deleted them."""
    client.ask(CreateTopicsRequest([CreatableTopic(name, 2, 1) for name in TOPICS]), 7)
    return [topic.topic_id for topic in client.ask(MetadataRequest(None), 12).topics]


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_every_offered_request_is_answered_or_closed(own_broker: WatchedBroker, seed: int) -> None:
    rng = random.Random(seed)
    with RawClient(own_broker.bootstrap) as client:
        offered = client.ask(ApiVersionsRequest("raw", "1"), 3).api_keys
        sampler = Sampler(rng, create_topics(client))
    for api in offered:
        for version in range(max(api.min_version, APIS[api.api_key].min_version), api.max_version + 1):
            ask(own_broker, sampler.message(APIS[api.api_key].request, version), version)
    assert own_broker.log_lines("request failed") == []
    assert own_broker.metric("headrace_handler_failures_total") == 0


def ask(broker: WatchedBroker, request: Any, version: int) -> None:
    with RawClient(broker.bootstrap) as client:
        sent = client.send_request(request, version)
        if getattr(request, "acks", None) == 0:
            return
        try:
            answered, _ = client.receive(request.API_KEY, version)
        except ConnectionError:
            return
        except TimeoutError:
            raise AssertionError(f"no answer to {request}") from None
        assert answered == sent
