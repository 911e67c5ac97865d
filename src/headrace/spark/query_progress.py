"""The progress of streaming queries: their lag, and a listener that keeps a consumer group up to date with a query.

    spark.streams.addListener(QueryProgress("127.0.0.1:9092", group="billing", query="orders-to-lake"))

The source itself commits to `kafka.group.id`, one batch late, and never the last batch of a query that ends by itself:
Spark tells it no more than that. This listener hears of every batch when it is done.
"""

import json
from collections.abc import Mapping
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from headrace.base.ids import TopicPartition
from headrace.spark.loop_thread import loop_thread
from headrace.spark.source.group_progress import ProgressGroup, commit_progress
from headrace.spark.source.offsets import Offsets, cluster_of, offsets_from_json


def lag_of(end_offset: str | None, latest_offset: str | None) -> dict[TopicPartition, int]:
    """Offsets still to read, by partition, from a source's part of a query's progress; empty if it is not ours."""
    ends, latest = _offsets(end_offset), _offsets(latest_offset)
    return {id: max(0, offset - ends.get(id, 0)) for id, offset in latest.items()}


def _offsets(text: str | None) -> Offsets:
    told: Any = json.loads(text) if text else {}
    # Sources of other kinds have offsets of other shapes; ours name their cluster.
    return offsets_from_json(told) if isinstance(told, dict) and cluster_of(told) else {}


class QueryProgress(StreamingQueryListener):
    """A listener for the query of this name, or for all. `lags` has the latest known lag of each query, by its id."""

    def __init__(
        self, bootstrap: str, *, group: str = "", query: str | None = None, security: Mapping[str, str] | None = None
    ) -> None:
        self._group = ProgressGroup(group, bootstrap, tuple(sorted((security or {}).items())))
        self._query = query
        self.lags: dict[str, dict[TopicPartition, int]] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        pass

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        progress = event.progress
        if self._query not in (None, progress.name):
            return
        lags: dict[TopicPartition, int] = {}
        for source in progress.sources:
            lags |= lag_of(source.endOffset, source.latestOffset)
            loop_thread().run(commit_progress(self._group, _offsets(source.endOffset)))
        self.lags[str(progress.id)] = lags

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        pass

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        self.lags.pop(str(event.id), None)
