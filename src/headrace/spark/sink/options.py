"""The sink's options: named as in Spark's Kafka connector, and a few of our own; a name that is not known is refused.

`kafka.*` are Kafka's producer settings. Those that the sink acts upon are listed here; security settings are for
`headrace.client.security`. A setting that would change what is promised (serializers, transactional.id, …) is refused
rather than ignored.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.base.errors import UserError
from headrace.spark.options import (
    EXECUTOR_TOKEN,
    HiddenOptions,
    bootstrap_of,
    check_names,
    executor_token_of,
    security_of,
)

EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
ALL = -1
_OWN = (
    "topic",
    "guarantee",
    "includeHeaders",
    "includeTimestamp",
    "transactionalIdPrefix",
    EXECUTOR_TOKEN,
    "checkpointLocation",
    "path",
)
_KAFKA = (
    "kafka.bootstrap.servers",
    "kafka.acks",
    "kafka.batch.size",
    "kafka.buffer.memory",
    "kafka.client.id",
    "kafka.compression.type",
    "kafka.delivery.timeout.ms",
    "kafka.enable.idempotence",
    "kafka.max.block.ms",
    "kafka.transaction.timeout.ms",
)
# Settings of Kafka's own producer that have no counterpart here and promise nothing.
_HARMLESS = (
    "kafka.linger.ms",
    "kafka.max.in.flight.requests.per.connection",
    "kafka.max.request.size",
    "kafka.metadata.max.age.ms",
    "kafka.request.timeout.ms",
    "kafka.retries",
    "kafka.retry.backoff.ms",
)
# As in wire.compression, which is not imported here: it takes 70 ms, and every planner that Spark starts would pay them.
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKS = {"all": ALL, "-1": ALL, "1": 1, "0": 1}


class SinkOptions(NamedTuple):
    bootstrap: str
    topic: str | None
    guarantee: str
    transactional_id_prefix: str
    include_headers: bool
    include_timestamp: bool
    client_id: str
    acks: int
    is_idempotent: bool
    codec: str
    batch_bytes: int
    buffer_bytes: int
    delivery_seconds: float
    start_seconds: float
    transaction_timeout_ms: int
    executor_token: str
    security: HiddenOptions
    """Options without their `kafka.`, for `login_of`."""


def sink_options(given: Mapping[str, str], default_guarantee: str) -> SinkOptions:
    """UserError for what is missing, unknown or malformed."""
    options = {name.lower(): value for name, value in given.items()}
    check_names(options, "sink", (*_OWN, *_KAFKA, *_HARMLESS), (*_OWN[:-2], *_KAFKA))
    bootstrap = bootstrap_of(options)
    acks = _choice(options, "kafka.acks", "all", _ACKS)
    idempotence = _flag(options, "kafka.enable.idempotence", acks == ALL)
    guarantee = _choice(options, "guarantee", default_guarantee, {name: name for name in (EXACTLY_ONCE, AT_LEAST_ONCE)})
    if guarantee == EXACTLY_ONCE and not (acks == ALL and idempotence):
        raise UserError(
            "exactly-once needs kafka.acks=all and idempotence", "leave both out, or set guarantee=at-least-once"
        )
    return SinkOptions(
        bootstrap=bootstrap,
        topic=options.get("topic"),
        guarantee=guarantee,
        transactional_id_prefix=options.get("transactionalidprefix", "headrace-sink"),
        include_headers=_flag(options, "includeHeaders", True),
        include_timestamp=_flag(options, "includeTimestamp", False),
        client_id=options.get("kafka.client.id", "headrace-spark-sink"),
        acks=acks,
        is_idempotent=idempotence,
        codec=_choice(options, "kafka.compression.type", "none", {name: name for name in _CODECS}),
        batch_bytes=_number(options, "kafka.batch.size", 1_000_000, least=1024),
        buffer_bytes=_number(options, "kafka.buffer.memory", 32 << 20, least=1),
        delivery_seconds=_number(options, "kafka.delivery.timeout.ms", 120_000, least=1) / 1000,
        start_seconds=_number(options, "kafka.max.block.ms", 30_000, least=1) / 1000,
        transaction_timeout_ms=_number(options, "kafka.transaction.timeout.ms", 300_000, least=1),
        executor_token=executor_token_of(options),
        security=security_of(options),
    )


def _choice(options: Mapping[str, str], name: str, default: str, choices: Mapping[str, int] | Mapping[str, str]) -> Any:
    chosen = options.get(name, default).lower()
    if chosen not in choices:
        raise UserError(f"{name}={chosen} does not exist", f"use {', '.join(choices)}")
    return choices[chosen]


def _flag(options: Mapping[str, str], name: str, default: bool) -> bool:
    return bool(_choice(options, name.lower(), str(default).lower(), {"true": 1, "false": 0}))


def _number(options: Mapping[str, str], name: str, default: int, *, least: int) -> int:
    text = options.get(name, str(default))
    if not text.isdecimal() or int(text) < least:
        raise UserError(f"{name}={text} is not a number of {least} or more", f"leave it out for {default}")
    return int(text)
