"""Small files of a day become one: which, by a calculation; how, by a task of Spark's for each group.

A lake that commits every half minute leaves thousands of files a day, and every reader pays for each of them.
"""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.dataset as ds

from headrace.pipelines.columns import RAW
from headrace.pipelines.day_files import DAY_FILE_BYTES, DayFiles
from headrace.pipelines.spark_tasks import run_tasks
from headrace.pipelines.tables.table import FilePlace, Table, TableFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COMPACTED_FILES_MIN = 8
READ_ROWS = 16_384


def compact(
    spark: "SparkSession", table: Table, files_min: int = COMPACTED_FILES_MIN, bytes_max: int = DAY_FILE_BYTES
) -> int:
    """Makes small files into large ones; returns the number of files replaced."""
    groups = small_files(table.files(), files_min, bytes_max)
    schema = pa.schema([*RAW, *table.columns()])
    merged = run_tasks(spark, partial(_merge, table.place, schema), groups)
    for old, new in zip(groups, merged, strict=True):
        table.replace(old, new)
    return sum(map(len, groups))


def small_files(files: Sequence[TableFile], files_min: int, bytes_max: int) -> list[list[TableFile]]:
    """Groups of one day each, in the order of their offsets, that make one file of about `bytes_max`."""
    by_day = defaultdict(list)
    for file in files:
        if file.bytes < bytes_max // 2:
            by_day[file.day].append(file)
    groups = []
    for day in sorted(by_day):
        group: list[TableFile] = []
        for file in sorted(by_day[day], key=lambda each: (each.partition_min, each.offset_min)):
            if group and sum(each.bytes for each in group) + file.bytes > bytes_max:
                groups.append(group)
                group = []
            group.append(file)
        groups.append(group)
    return [group for group in groups if len(group) >= files_min]


def _merge(place: FilePlace, schema: pa.Schema, files: list[TableFile]) -> list[TableFile]:
    merged = DayFiles(place, schema)
    for file in files:
        # One by one, in order: rows of a partition stay in the order of their offsets.
        for rows in ds.dataset(file.path, schema=schema, format="parquet").to_batches(batch_size=READ_ROWS):
            if rows.num_rows:
                merged.add(rows)
    return merged.close()
