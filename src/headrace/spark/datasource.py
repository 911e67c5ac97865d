"""`format("headrace")`: topics as tables and streams, for Spark. Readers and writers are made here and are elsewhere.

Spark makes one of these in every process that has to do with the query, the options with it; nothing heavy is imported
before it is needed.
"""

import sys
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from headrace.spark.source.options import SourceOptions


class HeadraceDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "headrace"

    def schema(self) -> StructType:
        from headrace.spark.source.columns import schema_of

        return schema_of(self._checked())

    def _checked(self) -> "SourceOptions":
        from headrace.spark.source.options import source_options

        # Whether this becomes a batch or a stream is not known yet; what only a stream refuses, its reader does.
        return source_options(self.options, is_streaming=False)

    def reader(self, schema: StructType) -> DataSourceReader:
        from headrace.spark.source.batch import BatchSource, FilteringBatchSource

        kind = FilteringBatchSource if _is_asked_for_filters() else BatchSource
        return kind(self.options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from headrace.spark.source.stream import StreamSource

        return StreamSource(self.options, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from headrace.spark.sink.writers import writer

        return writer(self.options, schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from headrace.spark.sink.writers import stream_writer

        return stream_writer(self.options, schema, overwrite)


def _is_asked_for_filters() -> bool:
    """Spark refuses a reader that takes filters where the session has not switched them on, and does not say whether it
    has; but the process that hands over filters is one that runs only if so."""
    caller = sys._getframe(2).f_code.co_filename
    return caller.endswith("data_source_pushdown_filters.py")
