"""The source's options: named as in Spark's Kafka connector, so that a job moves by changing one word, and some more.

`kafka.*` are Kafka's consumer settings. A name that is not known is refused with the nearest one that is; a setting that
the connector refuses, since Spark and not a consumer keeps the offsets, is refused here too.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import EARLIEST, LATEST
from headrace.spark.options import (
    EXECUTOR_TOKEN,
    HiddenOptions,
    bootstrap_of,
    check_names,
    executor_token_of,
    security_of,
)
from headrace.spark.source.offsets import parse_offsets, parse_partitions

_SUBSCRIPTIONS = ("subscribe", "subscribePattern", "assign")
_OWN = (
    *_SUBSCRIPTIONS,
    "startingOffsets",
    "startingTimestamp",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "endingOffsets",
    "endingTimestamp",
    "endingOffsetsByTimestamp",
    "failOnDataLoss",
    "includeHeaders",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "maxBytesPerTrigger",
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "valueFormat",
    "valueSchema",
    "deadLetterTopic",
    EXECUTOR_TOKEN,
)
_KAFKA = (
    "kafka.bootstrap.servers",
    "kafka.client.id",
    "kafka.group.id",
    "kafka.isolation.level",
    "kafka.max.partition.fetch.bytes",
)
# Of the connector and of Kafka's own consumer: they have no counterpart here and promise nothing.
_HARMLESS = (
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "partition.metadata.cache.ttl.ms",
    "kafka.fetch.max.bytes",
    "kafka.fetch.max.wait.ms",
    "kafka.fetch.min.bytes",
    "kafka.max.poll.records",
    "kafka.metadata.max.age.ms",
    "kafka.receive.buffer.bytes",
    "kafka.request.timeout.ms",
    "kafka.session.timeout.ms",
    "kafka.check.crcs",
)
_REFUSED = {
    "group.id": "use kafka.group.id",
    "kafka.auto.offset.reset": "use startingOffsets",
    "kafka.key.deserializer": "cast the key column instead",
    "kafka.value.deserializer": "cast the value column instead, or use valueFormat and valueSchema",
    "kafka.enable.auto.commit": "leave it out: Spark keeps the offsets, and kafka.group.id shows them to lag tools",
    "kafka.interceptor.classes": "leave it out: there is no Java consumer here",
}
# Spark's own, which it hands to every source.
_SPARKS = ("path", "checkpointlocation", "queryname")
_MILLISECONDS = {
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), 1),
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1000),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60_000),
    **dict.fromkeys(("h", "hour", "hours"), 3_600_000),
}


class Bound(NamedTuple):
    """One end of what is read: a rule for all partitions, or one for each."""

    everywhere: int | None = None
    """EARLIEST, LATEST, or a time in ms."""
    each: Mapping[TopicPartition, int] = {}
    is_time: bool = False


class SourceOptions(NamedTuple):
    bootstrap: str
    topics: tuple[str, ...]
    pattern: str
    partitions: tuple[TopicPartition, ...]
    starting: Bound
    is_late_start_allowed: bool
    """Whether a partition without a record that late starts at its end, rather than being an error."""
    ending: Bound
    fail_on_data_loss: bool
    include_headers: bool
    min_partitions: int
    max_records_per_partition: int
    max_offsets: int
    min_offsets: int
    max_delay_ms: int
    max_bytes: int
    group_id: str
    client_id: str
    read_committed: bool
    fetch_bytes: int
    poll_seconds: float
    value_format: str
    value_schema: str
    dead_letter_topic: str
    executor_token: str
    security: HiddenOptions
    """Options without their `kafka.`, for `login_of`."""

    @property
    def subscription(self) -> str:
        return self.pattern or ", ".join(self.topics) or ", ".join(map(str, self.partitions))


def source_options(given: Mapping[str, str], *, is_streaming: bool) -> SourceOptions:
    """UserError for what is missing, unknown or malformed."""
    options = {name.lower(): value for name, value in given.items()}
    _check_names(options)
    bootstrap = bootstrap_of(options)
    chosen = [name for name in _SUBSCRIPTIONS if name.lower() in options]
    if len(chosen) != 1:
        problem = f"{' and '.join(chosen)} exclude each other" if chosen else "no topic is named"
        raise UserError(problem, f"set one of {', '.join(_SUBSCRIPTIONS)}")
    topics = tuple(sorted({topic.strip() for topic in options.get("subscribe", "").split(",")} - {""}))
    if chosen == ["subscribe"] and not topics:
        raise UserError("subscribe is empty", "name one or more topics: subscribe=orders,payments")
    strategy = _choice(options, "startingOffsetsByTimestampStrategy", "error", ("error", "latest"))
    return SourceOptions(
        bootstrap=bootstrap,
        topics=topics,
        pattern=options.get("subscribepattern", ""),
        partitions=tuple(parse_partitions("assign", options["assign"])) if "assign" in options else (),
        starting=_bound(options, "starting", LATEST if is_streaming else EARLIEST),
        is_late_start_allowed=strategy == "latest",
        ending=_ending(options, is_streaming),
        fail_on_data_loss=_flag(options, "failOnDataLoss", True),
        include_headers=_flag(options, "includeHeaders", False),
        min_partitions=_number(options, "minPartitions", 0),
        max_records_per_partition=_number(options, "maxRecordsPerPartition", 0),
        max_offsets=_number(options, "maxOffsetsPerTrigger", 0),
        min_offsets=_number(options, "minOffsetsPerTrigger", 0),
        max_delay_ms=_duration(options, "maxTriggerDelay", "15m"),
        max_bytes=_number(options, "maxBytesPerTrigger", 0),
        group_id=options.get("kafka.group.id", ""),
        client_id=options.get("kafka.client.id", "headrace-spark"),
        read_committed=_choice(
            options, "kafka.isolation.level", "read_committed", ("read_committed", "read_uncommitted")
        )
        == "read_committed",
        fetch_bytes=_number(options, "kafka.max.partition.fetch.bytes", 4 << 20),
        poll_seconds=_number(options, "kafkaConsumer.pollTimeoutMs", 120_000) / 1000,
        value_format=_choice(options, "valueFormat", "none", ("none", "json", "avro")),
        value_schema=options.get("valueschema", ""),
        dead_letter_topic=options.get("deadlettertopic", ""),
        executor_token=executor_token_of(options),
        security=security_of(options),
    )


def _check_names(options: Mapping[str, str]) -> None:
    for name in options:
        if name in _REFUSED:
            raise UserError(f"the source does not take the option {name}", _REFUSED[name])
    given = {name: value for name, value in options.items() if name not in _SPARKS}
    check_names(given, "source", (*_OWN, *_KAFKA, *_HARMLESS), (*_OWN, *_KAFKA))


def _bound(options: Mapping[str, str], side: str, default: int) -> Bound:
    """In the connector's order: one time for all, a time for each, offsets."""
    timestamp = options.get(f"{side}timestamp")
    if timestamp is not None:
        return Bound(_number(options, f"{side}Timestamp", 0), is_time=True)
    by_timestamp = options.get(f"{side}offsetsbytimestamp")
    if by_timestamp is not None:
        return Bound(each=parse_offsets(f"{side}OffsetsByTimestamp", by_timestamp), is_time=True)
    text = options.get(f"{side}offsets", "").strip()
    rules = {"": default, "earliest": EARLIEST, "latest": LATEST}
    if text.lower() in rules:
        return Bound(rules[text.lower()])
    return Bound(each=parse_offsets(f"{side}Offsets", text))


def _ending(options: Mapping[str, str], is_streaming: bool) -> Bound:
    given = [
        name for name in ("endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp") if name.lower() in options
    ]
    if is_streaming and given:
        raise UserError(f"a stream has no end, so {given[0]} has no meaning", "leave it out, or use spark.read")
    ending = _bound(options, "ending", LATEST)
    if ending.everywhere == EARLIEST or EARLIEST in ending.each.values():
        raise UserError("endingOffsets=earliest reads nothing", "use latest, or offsets for each partition")
    return ending


def _choice(options: Mapping[str, str], name: str, default: str, choices: tuple[str, ...]) -> str:
    chosen = options.get(name.lower(), default).lower()
    if chosen not in choices:
        raise UserError(f"{name}={chosen} does not exist", f"use {' or '.join(choices)}")
    return chosen


def _flag(options: Mapping[str, Any], name: str, default: bool) -> bool:
    return _choice(options, name, str(default).lower(), ("true", "false")) == "true"


def _number(options: Mapping[str, str], name: str, default: int) -> int:
    text = options.get(name.lower(), "").strip()
    if not text:
        return default
    if not text.isdecimal() or (int(text) == 0 and default == 0 and not name.endswith("Timestamp")):
        raise UserError(f"{name}={text} is not a whole number above 0", "write it in digits")
    return int(text)


def _duration(options: Mapping[str, str], name: str, default: str) -> int:
    text = options.get(name.lower(), default).strip().lower().replace(" ", "")
    digits = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text[len(digits) :]
    if not digits.isdecimal() or unit not in _MILLISECONDS:
        raise UserError(f"{name}={text} is not a time", f"for example {name}=30s or {name}=15m")
    return int(digits) * _MILLISECONDS[unit]
