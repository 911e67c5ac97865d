"""Failures of a read for readers who know Spark and not our protocol: one sentence and what to do."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.base.errors import Refused, UserError
from headrace.base.ids import TopicPartition
from headrace.client.connection import Disconnected
from headrace.spark.source_options import SourceOptions
from headrace.wire.codes import ErrorCode

_FIXES: dict[int, str] = {
    ErrorCode.SASL_AUTHENTICATION_FAILED: "look at kafka.sasl.username and kafka.sasl.password, or kafka.sasl.jaas.config",
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: "set kafka.sasl.mechanism to one that the brokers offer",
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: "ask for the right to read the topic",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "ask for rights on the group, or leave out kafka.group.id",
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "look at subscribe, and at kafka.bootstrap.servers if it should be there",
    ErrorCode.KAFKA_STORAGE_ERROR: "the broker's log says what is wrong with its disk",
}

logger = logging.getLogger("headrace.spark")


class LostRecords(UserError):
    """Records that were to be read are gone."""

    def __init__(self, id: TopicPartition, first: int, limit: int, why: str) -> None:
        self.id, self.first, self.limit = id, first, limit
        lost = f"offsets {first} to {limit - 1}" if limit > first else f"offset {first}"
        fix = "set failOnDataLoss=false to go on without them; a larger retention.ms keeps records for longer"
        super().__init__(f"{id}: {lost} cannot be read any more: {why}", fix)


@contextmanager
def in_plain_words(options: SourceOptions) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        raise UserError(f"the broker refused: {refused.message}", _FIXES.get(refused.code, "")) from None
    except Disconnected as error:
        raise UserError(
            f"no broker answers at {options.bootstrap}: {error}",
            "look at kafka.bootstrap.servers, and at kafka.security.protocol if the brokers want TLS",
        ) from None


def report(options: SourceOptions, lost: LostRecords) -> None:
    """Reports lost records as `failOnDataLoss` says: the end of the query, or a line in the log."""
    if options.fail_on_data_loss:
        raise lost
    logger.warning("%(cause)s", {"cause": lost.cause})
