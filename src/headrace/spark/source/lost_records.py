"""Records that a query was to read and that are gone: the end of the query, or a line in the log."""

import logging

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.spark.source.options import SourceOptions

logger = logging.getLogger("headrace.spark")


class LostRecords(UserError):
    """Records that were to be read are gone."""

    def __init__(self, id: TopicPartition, first: int, limit: int, why: str) -> None:
        self.id, self.first, self.limit = id, first, limit
        lost = f"offsets {first} to {limit - 1}" if limit > first else f"offset {first}"
        fix = "set failOnDataLoss=false to go on without them; a larger retention.ms keeps records for longer"
        super().__init__(f"{id}: {lost} cannot be read any more: {why}", fix)


def report(options: SourceOptions, lost: LostRecords) -> None:
    """Reports lost records as `failOnDataLoss` says: the end of the query, or a line in the log."""
    if options.fail_on_data_loss:
        raise lost
    logger.warning("%(cause)s", {"cause": lost.cause})
