"""Runs a plain function once per item on Spark's executors and brings back what it returned, in order.

This is all the pipelines that move bytes need of Spark: where to run, how often to try again, on how many cores. The
records themselves stay in the Python workers: they do not pass through the JVM and back.
A failure that a person can mend comes back as the UserError it was, whatever machine it happened on.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from headrace.base.errors import UserError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
R = TypeVar("R")


def run_tasks(spark: "SparkSession", work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """One task per item. Spark may run a task twice, even at the same time: only what one of them returned counts."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for index in batch.column(0).to_pylist():
                yield pa.RecordBatch.from_pydict({"item": [index], "outcome": [_outcome(work, items[index])]})

    if not items:
        return []
    numbers = spark.range(0, len(items), 1, len(items))
    rows = numbers.mapInArrow(run, "item bigint, outcome binary").collect()
    return [_result(outcome) for _, outcome in sorted((row.item, row.outcome) for row in rows)]


def parallelism(spark: "SparkSession") -> int:
    """How many tasks run at once. Over Spark Connect the server keeps that to itself."""
    try:
        return max(1, spark.sparkContext.defaultParallelism)
    except Exception:  # PySpark has no error of its own for this
        return 2


def _outcome(work: Callable[[T], R], item: T) -> bytes:
    try:
        return pickle.dumps((work(item), None))
    except UserError as error:
        return pickle.dumps((None, (error.cause, error.fix)))


def _result(outcome: bytes) -> Any:
    result, failure = pickle.loads(bytes(outcome))
    if failure is not None:
        raise UserError(*failure)
    return result
