"""Rows into Parquet files, one day a file, each on the disk before anybody hears of it.

Memory is bounded whatever the range: rows are written a row group at a time, and only a few days are open at once. (A topic
whose timestamps jump between many days gets more files, not more memory.)
"""

import datetime
import uuid
from collections import OrderedDict

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from headrace.base.file_sync import full_sync
from headrace.pipelines.columns import RAW
from headrace.pipelines.tables.table import FilePlace, TableFile

ROW_GROUP_BYTES = 64 << 20
DAY_FILE_BYTES = 128 << 20
OPEN_DAYS_MAX = 4
# Values are rarely alike, and their least and greatest say nothing: no dictionary, no statistics for them.
_ALIKE = ["topic", "partition", "timestamp_type", "key"]
_MEASURED = ["partition", "kafka_offset", "timestamp"]


class DayFiles:
    """`add` batches, then `close` for the files. Nothing of an object that was not closed counts."""

    def __init__(self, place: FilePlace, schema: pa.Schema) -> None:
        self._place, self._schema = place, schema
        self._open: OrderedDict[datetime.date, _File] = OrderedDict()
        self._done: list[TableFile] = []

    def add(self, rows: pa.RecordBatch) -> None:
        days = rows.column("timestamp").cast(pa.date32())
        found = pc.unique(days).to_pylist()
        for day in found:
            self._file(day).add(rows if len(found) == 1 else rows.filter(pc.equal(days, day)))

    def close(self) -> list[TableFile]:
        while self._open:
            self._close_oldest()
        return self._done

    def _file(self, day: datetime.date) -> "_File":
        file = self._open.get(day)
        if file is not None and file.is_full:
            self._done.append(self._open.pop(day).close())
            file = None
        if file is None:
            if len(self._open) >= OPEN_DAYS_MAX:
                self._close_oldest()
            file = self._open[day] = _File(self._place, day, self._schema)
        self._open.move_to_end(day)
        return file

    def _close_oldest(self) -> None:
        _, file = self._open.popitem(last=False)
        self._done.append(file.close())


class _File:
    def __init__(self, place: FilePlace, day: datetime.date, schema: pa.Schema) -> None:
        self._day = day
        self._path = place.file(day, uuid.uuid4().hex)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._sink = self._path.open("wb")
        self._writer = pq.ParquetWriter(
            self._sink,
            schema,
            compression="zstd",
            use_dictionary=_ALIKE,
            write_statistics=[name for name in schema.names if name in _MEASURED or name in _decoded(schema)],
        )
        self._schema = schema
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_bytes = self._rows = 0
        self._bounds: list[tuple[int, int, int, int]] = []

    @property
    def is_full(self) -> bool:
        return self._sink.tell() >= DAY_FILE_BYTES

    def add(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._waiting_bytes += rows.nbytes
        self._rows += rows.num_rows
        ends = [pc.min_max(rows.column(name)).as_py() for name in ("partition", "kafka_offset")]
        self._bounds.append((ends[0]["min"], ends[0]["max"], ends[1]["min"], ends[1]["max"]))
        if self._waiting_bytes >= ROW_GROUP_BYTES:
            self._write_group()

    def close(self) -> TableFile:
        self._write_group()
        self._writer.close()
        self._sink.flush()
        full_sync(self._sink.fileno())
        size = self._sink.tell()
        self._sink.close()
        low, high, first, last = zip(*self._bounds, strict=True)
        return TableFile(str(self._path), self._day, self._rows, size, min(low), max(high), min(first), max(last))

    def _write_group(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, self._schema))
        self._waiting, self._waiting_bytes = [], 0


def _decoded(schema: pa.Schema) -> list[str]:
    return [field.name for field in schema if field.name not in RAW.names and not pa.types.is_nested(field.type)]
