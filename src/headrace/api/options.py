"""Settings as confluent-kafka takes them: Kafka's names, written with dots or, as keywords, with underscores."""

import logging
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from headrace.api.errors import ApiError, UnknownOption
from headrace.api.trouble import Trouble
from headrace.base.errors import UserError
from headrace.client.bearer import for_librdkafka

logger = logging.getLogger("headrace.api")

Config = Mapping[str, object]
Made = TypeVar("Made")

# librdkafka decides what it knows; these are for the hint only.
WELL_KNOWN = [
    "acks",
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "auto.offset.reset",
    "batch.num.messages",
    "batch.size",
    "bootstrap.servers",
    "check.crcs",
    "client.id",
    "client.rack",
    "compression.codec",
    "compression.level",
    "compression.type",
    "connections.max.idle.ms",
    "debug",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "enable.idempotence",
    "enable.partition.eof",
    "error_cb",
    "fetch.max.bytes",
    "fetch.message.max.bytes",
    "fetch.min.bytes",
    "fetch.wait.max.ms",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "log_level",
    "max.block.ms",
    "max.in.flight.requests.per.connection",
    "max.partition.fetch.bytes",
    "max.poll.interval.ms",
    "message.max.bytes",
    "message.send.max.retries",
    "message.timeout.ms",
    "metadata.max.age.ms",
    "oauth_cb",
    "partition.assignment.strategy",
    "partitioner",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "queued.max.messages.kbytes",
    "queued.min.messages",
    "receive.message.max.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retries",
    "retry.backoff.ms",
    "sasl.mechanism",
    "sasl.mechanisms",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "session.timeout.ms",
    "socket.keepalive.enable",
    "socket.timeout.ms",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.key.location",
    "ssl.key.password",
    "statistics.interval.ms",
    "stats_cb",
    "sticky.partitioning.linger.ms",
    "throttle_cb",
    "topic.metadata.refresh.interval.ms",
    "transaction.timeout.ms",
    "transactional.id",
]
# Settings of one kind of client, which librdkafka warns of in another: a config for all kinds may hold both.
OF_CONSUMERS = frozenset(
    {
        "auto.commit.interval.ms", "auto.offset.reset", "check.crcs", "enable.auto.commit", "enable.partition.eof",
        "fetch.max.bytes", "fetch.message.max.bytes", "fetch.min.bytes", "fetch.wait.max.ms", "group.id",
        "group.instance.id", "group.protocol", "group.remote.assignor", "heartbeat.interval.ms", "isolation.level",
        "max.partition.fetch.bytes", "max.poll.interval.ms", "partition.assignment.strategy",
        "queued.max.messages.kbytes", "queued.min.messages",
        "session.timeout.ms",
    }
)  # fmt: skip
OF_PRODUCERS = frozenset(
    {
        "acks", "batch.num.messages", "batch.size", "compression.codec", "compression.level", "compression.type",
        "delivery.timeout.ms", "enable.idempotence", "linger.ms", "max.block.ms", "message.send.max.retries",
        "message.timeout.ms", "partitioner", "queue.buffering.max.kbytes", "queue.buffering.max.messages",
        "request.timeout.ms", "retries", "retry.backoff.ms", "sticky.partitioning.linger.ms", "transaction.timeout.ms",
        "transactional.id",
    }
)  # fmt: skip
# Settings with a place of their own in the API.
ELSEWHERE = {
    "bootstrap.servers": "it is the first argument of connect()",
    "group.id": "join_group() names the group",
    "transactional.id": "transactional_producer() takes the id",
    "enable.auto.offset.store": "leave it out: the loop stores what its body has finished",
}
_NO_SUCH = re.compile(r'No such configuration property: "([^"]+)"')


def kafka_config(*parts: Config | None) -> dict[str, Any]:
    """The parts as one, the later ones win; `linger_ms` and `linger.ms` are the same setting."""
    merged: dict[str, Any] = {}
    for part in parts:
        merged.update({_dotted(name): value for name, value in (part or {}).items()})
    return merged


def checked(config: Config | None, others: frozenset[str] = frozenset(), whose: str = "") -> dict[str, Any]:
    """Settings that a caller gave; those of the `others`, or with a place elsewhere, are told rather than ignored."""
    if config is not None and not isinstance(config, Mapping):
        raise ApiError(f"config is {config!r}", 'pass a dict: {"linger.ms": 5}')
    given = kafka_config(config)
    for name in given:
        if name in ELSEWHERE:
            raise ApiError(f"{name} is no setting here", ELSEWHERE[name])
        if name in others:
            raise UnknownOption(f"{name} is a setting of {whose}", f"pass it to what makes {whose}, or to connect()")
    return given


def checked_for_producer(config: Config | None) -> dict[str, Any]:
    return checked(config, OF_CONSUMERS, "consumers")


def checked_for_consumer(config: Config | None) -> dict[str, Any]:
    return checked(config, OF_PRODUCERS, "producers")


def for_producers(config: Config) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in OF_CONSUMERS}


def for_consumers(config: Config) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in OF_PRODUCERS}


def made(kind: Callable[[dict[str, Any]], Made], config: Config, trouble: Trouble | None = None) -> Made:
    """A confluent-kafka client; a setting that it refuses is told with the nearest name."""
    try:
        told = for_librdkafka(dict[str, Any](config))
        return kind({"logger": _LibrdkafkaLog(), "error_cb": (trouble or Trouble()).note, **told})
    except UserError as wrong:
        raise ApiError(wrong.cause, wrong.fix) from None
    except KafkaException as failure:
        cause = failure.args[0]
        raise _refused(cause.str() if isinstance(cause, KafkaError) else str(cause)) from None
    except (TypeError, ValueError) as failure:
        raise ApiError(f"a setting is refused: {failure}", "see docs/python.md for the settings") from None


class _LibrdkafkaLog:
    """librdkafka's lines in our log; failed attempts to connect, which it makes for ever, are for debugging."""

    def log(self, level: int, text: str, facility: str, *about: str) -> None:
        said = {"cause": " ".join(map(str, (facility, *about)))}
        if facility == "FAIL" or level < logging.INFO:
            logger.debug("librdkafka: %(cause)s", said)
        elif level < logging.WARNING:
            logger.info("librdkafka: %(cause)s", said)
        elif level < logging.ERROR:
            logger.warning("librdkafka: %(cause)s", said)
        else:
            logger.error("librdkafka: %(cause)s", said)


def near(name: str, known: list[str] | tuple[str, ...], cutoff: float = 0.6) -> str:
    """A hint: the nearest known name, or nothing."""
    found = get_close_matches(name, known, n=1, cutoff=cutoff)
    return f"did you mean {found[0]}?" if found else ""


def _dotted(name: str) -> str:
    return name if name in WELL_KNOWN else name.replace("_", ".")


def _refused(said: str) -> ApiError:
    if not (found := _NO_SUCH.search(said)):
        return ApiError(f"a setting is refused: {said}", "correct its value")
    hint = near(found[1], WELL_KNOWN) or "names are those of librdkafka, see docs/python.md"
    return UnknownOption(f"there is no setting {found[1]}", hint)
