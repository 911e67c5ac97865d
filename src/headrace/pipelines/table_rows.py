"""Rows of a lake table in the order of their offsets, a window of offsets at a time.

Files of one partition may overlap (a day's end, a compaction), so a window is read from all files that reach into it and
sorted. Windows are as wide as keeps one small in memory.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from headrace.pipelines.copying import RECORD
from headrace.pipelines.tables.table import TableFile

WINDOW_BYTES = 64 << 20
# Parquet of text and zstd is about so much smaller than its rows.
_PACKED = 8


def read_rows(files: Sequence[TableFile], partition: int, first: int, limit: int) -> Iterator[pa.RecordBatch]:
    mine = [
        file for file in files if file.partition_min <= partition <= file.partition_max and file.offset_max >= first
    ]
    width = _window(mine)
    # Not from 0 for a table whose topic had lost its beginning.
    start = max(first, min((file.offset_min for file in mine), default=limit))
    while start < limit:
        end = min(start + width, limit)
        reaching = [file for file in mine if file.offset_min < end and file.offset_max >= start]
        if reaching:
            yield from _sorted_rows(reaching, partition, start, end)
        start = end


def _sorted_rows(files: Sequence[TableFile], partition: int, start: int, end: int) -> Iterator[pa.RecordBatch]:
    offset = pc.field("kafka_offset")
    wanted = (pc.field("partition") == partition) & (offset >= start) & (offset < end)
    table = ds.dataset([file.path for file in files], schema=RECORD, format="parquet").to_table(filter=wanted)
    for rows in table.sort_by("kafka_offset").combine_chunks().to_batches():
        if rows.num_rows:
            yield rows


def _window(files: Sequence[TableFile]) -> int:
    rows = sum(file.rows for file in files)
    bytes_each = sum(file.bytes for file in files) * _PACKED / max(rows, 1)
    return max(1, int(WINDOW_BYTES / max(bytes_each, 1)))
