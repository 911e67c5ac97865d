"""The arguments of `send`, checked and turned into librdkafka's."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

from headrace.api.checks import Headers, Pairs, check_name, check_partition, check_timestamp, header_pairs
from headrace.api.delivery import Delivery
from headrace.api.errors import UnknownOption
from headrace.api.options import near
from headrace.api.values import Schema, to_bytes

Inject = Callable[[dict[str, str | bytes | None]], None]


class SendOptions(TypedDict, total=False):
    """The arguments of `send` beside topic and value."""

    key: object
    headers: Headers | None
    partition: int | None
    timestamp_ms: int | None
    schema: Schema | None


class Prepared(NamedTuple):
    """A message as librdkafka takes it."""

    topic: str
    value: bytes | None
    key: bytes | None
    options: dict[str, Any]
    delivery: Delivery


_KNOWN = tuple(SendOptions.__annotations__)


def prepared(topic: str, value: object, given: SendOptions, inject: Inject | None) -> Prepared:
    for name in given:
        if name not in _KNOWN:
            raise UnknownOption(f"send() has no option {name}", near(name, _KNOWN) or f"it has {', '.join(_KNOWN)}")
    options: dict[str, Any] = {}
    if (partition := given.get("partition")) is not None:
        options["partition"] = check_partition(partition)
    if (timestamp_ms := given.get("timestamp_ms")) is not None:
        options["timestamp"] = check_timestamp(timestamp_ms)
    if headers := _with_context(header_pairs(given.get("headers")), inject):
        options["headers"] = headers
    key, data = to_bytes(given.get("key")), to_bytes(value, given.get("schema"))
    return Prepared(topic, data, key, options, Delivery(check_name("topic", topic, "send(topic, value)")))


def _with_context(pairs: Pairs, inject: Inject | None) -> Pairs:
    if inject is None:
        return pairs
    carried: dict[str, str | bytes | None] = {}
    inject(carried)
    return [each for each in pairs if each[0] not in carried] + list(carried.items())
