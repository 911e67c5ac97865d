"""A Delta table in a folder. No catalog: its log is in the folder too.

Delta has what a lake needs built in: for each Kafka partition the log keeps an application's transaction number, which is
our next offset, and refuses a commit that raced with another one of the same application.
"""

import datetime
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from headrace.pipelines.columns import RAW
from headrace.pipelines.ranges import Offsets
from headrace.pipelines.tables.table import (
    DECODE,
    OFFSETS,
    SOURCE,
    FilePlace,
    TableFile,
    TableOvertaken,
    TableSource,
    offsets_text,
    parse_source,
    source_text,
)

_DAY = pa.field("day", pa.date32())


class DeltaLakeTable:
    format = "delta"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table = DeltaTable(path)

    @staticmethod
    def is_at(path: Path) -> bool:
        return DeltaTable.is_deltatable(str(path))

    @classmethod
    def open(cls, path: Path) -> "DeltaLakeTable":
        return cls(path)

    @classmethod
    def create(cls, path: Path, source: TableSource, decode: str) -> "DeltaLakeTable":
        path.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(
            path,
            pa.schema([*RAW, _DAY]),
            partition_by=["day"],
            configuration={SOURCE: source_text(source), DECODE: decode},
            raise_if_key_not_exists=False,
        )
        return cls(path)

    @property
    def place(self) -> FilePlace:
        return FilePlace(str(self.path))

    @property
    def source(self) -> TableSource:
        return parse_source(self._table.metadata().configuration[SOURCE])

    @property
    def decode(self) -> str:
        return self._table.metadata().configuration[DECODE]

    def offsets(self) -> Offsets:
        """Every commit has all partitions, so the first that is not there is one more than there are."""
        offsets: Offsets = {}
        while (offset := self._table.transaction_version(self._application(len(offsets)))) is not None:
            offsets[len(offsets)] = offset
        return offsets

    def columns(self) -> pa.Schema:
        schema = pa.schema(self._table.schema().to_arrow())
        return pa.schema([field for field in schema if field.name not in (*RAW.names, "day")])

    def grow(self, columns: pa.Schema) -> None:
        nothing = pa.schema([*RAW, *columns, _DAY]).empty_table()
        write_deltalake(self._table, nothing, mode="append", schema_mode="merge")
        self._table.update_incremental()

    def commit(self, files: Sequence[TableFile], before: Offsets, after: Offsets) -> None:
        if self.offsets() != before:
            raise TableOvertaken(str(self.path))
        properties = CommitProperties(
            custom_metadata={OFFSETS: offsets_text(after)},
            app_transactions=[Transaction(self._application(p), after[p]) for p in range(len(after))],
        )
        self._write([self._added(file, is_new=True) for file in files], properties)

    def files(self) -> list[TableFile]:
        added = pa.table(self._table.get_add_actions(flatten=True)).to_pylist()
        return [
            TableFile(
                str(self.path / each["path"]),
                each["partition.day"],
                each["num_records"],
                each["size_bytes"],
                each["min.partition"],
                each["max.partition"],
                each["min.kafka_offset"],
                each["max.kafka_offset"],
            )
            for each in added
        ]

    def replace(self, old: Sequence[TableFile], new: Sequence[TableFile]) -> None:
        gone = [self._removed(file) for file in old]
        self._write([*(self._added(file, is_new=False) for file in new), *gone], CommitProperties())

    def forget(self, before: datetime.datetime) -> int:
        age = datetime.datetime.now(datetime.UTC) - before
        hours = max(0, int(age.total_seconds() // 3600))
        return len(self._table.vacuum(hours, dry_run=False, enforce_retention_duration=False, full=True))

    def _write(self, actions: list[AddAction | RemoveAction], properties: CommitProperties) -> None:
        schema = self._table.schema()
        try:
            self._table.create_write_transaction(actions, "append", schema, ["day"], commit_properties=properties)
        except CommitFailedError as error:
            raise TableOvertaken(str(self.path)) from error
        finally:
            self._table.update_incremental()

    def _application(self, partition: int) -> str:
        return f"headrace:{self.source.topic}:{partition}"

    def _added(self, file: TableFile, is_new: bool) -> AddAction:
        partition_values = {"day": file.day.isoformat()}
        return AddAction(self._name(file), file.bytes, partition_values, _now_ms(), is_new, _statistics(file))

    def _removed(self, file: TableFile) -> RemoveAction:
        return RemoveAction(self._name(file), False, _now_ms(), file.bytes, {"day": file.day.isoformat()})

    def _name(self, file: TableFile) -> str:
        return str(Path(file.path).relative_to(self.path))


def _statistics(file: TableFile) -> str:
    """Statistics by which readers skip files."""
    least = {"partition": file.partition_min, "kafka_offset": file.offset_min}
    most = {"partition": file.partition_max, "kafka_offset": file.offset_max}
    return json.dumps({"numRecords": file.rows, "minValues": least, "maxValues": most})


def _now_ms() -> int:
    return int(time.time() * 1000)
