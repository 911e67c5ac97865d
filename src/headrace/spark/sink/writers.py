"""The sink of `format("headrace")`: rows of a DataFrame or a stream, written to topics.

A batch write is at least once: a task that Spark runs again writes its rows again. A stream is exactly once unless
at-least-once is asked for: each task writes its part of a micro-batch in a transaction that also stores the batch's
number (`headrace.client.transaction`), so a batch that Spark repeats after a crash finds its number there and is dropped.
That holds as long as Spark gives a task the same rows again, which it does unless the plan shuffles by chance or the
number of tasks was changed between crash and restart.

Writers are made on the driver for every micro-batch and sent to the tasks: they hold options, no state.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from headrace.base.errors import UserError
from headrace.spark.executor_login import executor_security, writing
from headrace.spark.frozen_modules import freeze_loaded
from headrace.spark.plain_words import WRITING, in_plain_words
from headrace.spark.sink.columns import Columns, columns_of
from headrace.spark.sink.options import AT_LEAST_ONCE, EXACTLY_ONCE, SinkOptions, sink_options


@dataclass
class TaskReport(WriterCommitMessage):
    """The report of one finished task."""

    rows: int
    bytes: int
    is_repeated: bool = False


def writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> "BatchSink":
    """The writer that `DataSource.writer` returns."""
    if overwrite:
        raise UserError("a topic cannot be overwritten", 'use .mode("append")')
    chosen = sink_options(options, AT_LEAST_ONCE)
    if chosen.guarantee == EXACTLY_ONCE:
        raise UserError("a batch write is at least once", "exactly-once is for streams: use writeStream")
    return BatchSink(_for_tasks(chosen, writing(chosen.topic)), _columns(chosen, schema))


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> "StreamSink":
    """The writer that `DataSource.streamWriter` returns."""
    if overwrite:
        raise UserError("a topic cannot be overwritten", 'use .outputMode("append") or "update"')
    chosen = sink_options(options, EXACTLY_ONCE)
    freeze_loaded("plan a write")
    prefix = chosen.transactional_id_prefix if chosen.guarantee == EXACTLY_ONCE else ""
    return StreamSink(_for_tasks(chosen, writing(chosen.topic, prefix)), _columns(chosen, schema))


def _for_tasks(options: SinkOptions, grants: Sequence[str]) -> SinkOptions:
    """The options that tasks are sent, with a login of their own."""
    with in_plain_words(options.bootstrap, WRITING):
        return options._replace(security=executor_security(options, grants))


def _columns(options: SinkOptions, schema: StructType) -> Columns:
    return columns_of(schema, topic=options.topic, headers=options.include_headers, timestamp=options.include_timestamp)


class BatchSink(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions, columns: Columns) -> None:
        self._options, self._columns = options, columns

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        # Compiled code and all: the driver, which only makes the writer, starts faster without.
        from headrace.spark.sink.task import write_rows

        return TaskReport(*write_rows(self._options, self._columns, iterator))


class StreamSink(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions, columns: Columns) -> None:
        self._options, self._columns = options, columns

    def write(self, iterator: Iterator[pa.RecordBatch]) -> TaskReport:
        from headrace.spark.sink.task import write_rows, write_rows_once

        if self._options.guarantee == AT_LEAST_ONCE:
            return TaskReport(*write_rows(self._options, self._columns, iterator))
        name, batch_id = _task_name(self._options.transactional_id_prefix)
        written = write_rows_once(self._options, self._columns, iterator, name, batch_id)
        return TaskReport(0, 0, is_repeated=True) if written is None else TaskReport(*written)


def _task_name(prefix: str) -> tuple[str, int]:
    """A name that is the same whenever this query runs this task, and the number of the micro-batch."""
    context = TaskContext.get()
    assert context is not None
    query_id = context.getLocalProperty("sql.streaming.queryId")
    batch_id = context.getLocalProperty("streaming.sql.batchId")
    if query_id is None or batch_id is None:
        raise UserError("Spark does not say which query this is", "set guarantee=at-least-once")
    return f"{prefix}-{query_id}-{context.partitionId()}", int(batch_id)
