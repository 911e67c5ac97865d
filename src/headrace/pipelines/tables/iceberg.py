"""An Iceberg table in a folder: data, metadata, and a small SQLite catalog, which pyiceberg needs to commit.

Other engines open the folder's newest `metadata/*.metadata.json`, or the catalog. Every snapshot says in its properties up
to which offsets it has the topic, so that a table rolled back by hand goes on where it was rolled back to. The same is kept
as a property of the table, for when somebody else's maintenance has expired the snapshots that said it.
Not done here: catalogs of other kinds, and tables with delete files.
"""

import datetime
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io.pyarrow import parquet_file_to_data_file, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table as PyIcebergTable
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.transforms import DayTransform

from headrace.pipelines.columns import RAW, list_of
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
    parse_offsets,
    parse_source,
    source_text,
)

CATALOG_FILE = "catalog.db"
_NAME = ("headrace", "topic")
_TRIES = 5
_EPOCH = datetime.date(1970, 1, 1)
_NO_METRICS = {f"write.metadata.metrics.column.{name}": "none" for name in ("key", "value", "headers", "decode_error")}
_PROPERTIES = {
    # A commit that met another one is looked at by us, not repeated blindly: it may have been another lake run.
    "commit.retry.num-retries": "0",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
    **_NO_METRICS,
}
# It names each column that has no statistics, once a file: values have none, on purpose.
logging.getLogger("pyiceberg.io.pyarrow").setLevel(logging.ERROR)


class IcebergTable:
    format = "iceberg"

    def __init__(self, path: Path, table: PyIcebergTable) -> None:
        self.path = path
        self._table = table

    @staticmethod
    def is_at(path: Path) -> bool:
        return (path / CATALOG_FILE).exists() and _catalog(path).table_exists(_NAME)

    @classmethod
    def open(cls, path: Path) -> "IcebergTable":
        return cls(path, _catalog(path).load_table(_NAME))

    @classmethod
    def create(cls, path: Path, source: TableSource, decode: str) -> "IcebergTable":
        path.mkdir(parents=True, exist_ok=True)
        catalog = _catalog(path)
        catalog.create_namespace_if_not_exists(_NAME[0])
        properties = {**_PROPERTIES, SOURCE: source_text(source), DECODE: decode}
        transaction = catalog.create_table_transaction(_NAME, RAW, location=str(path), properties=properties)
        with transaction, transaction.update_spec() as spec:
            spec.add_field("timestamp", DayTransform(), "day")
        return cls.open(path)

    @property
    def place(self) -> FilePlace:
        return FilePlace(str(self.path / "data"))

    @property
    def source(self) -> TableSource:
        return parse_source(self._table.properties[SOURCE])

    @property
    def decode(self) -> str:
        return self._table.properties[DECODE]

    def offsets(self) -> Offsets:
        for snapshot in self._ancestors():
            found = snapshot.summary and snapshot.summary.additional_properties.get(OFFSETS)
            if found:
                return parse_offsets(found)
        return parse_offsets(self._table.properties.get(OFFSETS, "{}"))

    def columns(self) -> pa.Schema:
        schema = schema_to_pyarrow(self._table.schema(), include_field_ids=False)
        return pa.schema([_plain(field) for field in schema if field.name not in RAW.names])

    def grow(self, columns: pa.Schema) -> None:
        with self._table.update_schema() as update:
            update.union_by_name(pa.schema([*RAW, *columns]))

    def commit(self, files: Sequence[TableFile], before: Offsets, after: Offsets) -> None:
        for _ in range(_TRIES):
            if self.offsets() != before:
                break
            properties = {OFFSETS: offsets_text(after)}
            try:
                with self._table.transaction() as change:
                    change.set_properties(properties)
                    change.add_files([file.path for file in files], properties, check_duplicate_files=False)
                return
            except CommitFailedException:
                self._table.refresh()
        raise TableOvertaken(str(self.path))

    def files(self) -> list[TableFile]:
        return [self._file(task.file) for task in self._table.scan().plan_files()]

    def replace(self, old: Sequence[TableFile], new: Sequence[TableFile]) -> None:
        try:
            self._replace({file.path for file in old}, new)
        except CommitFailedException as error:
            self._table.refresh()
            raise TableOvertaken(str(self.path)) from error

    def _replace(self, gone: set[str], new: Sequence[TableFile]) -> None:
        with self._table.transaction() as change:
            properties = {OFFSETS: offsets_text(self.offsets())}
            with change.update_snapshot(snapshot_properties=properties).overwrite() as files:
                for task in self._table.scan().plan_files():
                    if task.file.file_path in gone:
                        files.delete_data_file(task.file)
                for file in new:
                    added = parquet_file_to_data_file(self._table.io, change.table_metadata, file.path)
                    files.append_data_file(added)

    def forget(self, before: datetime.datetime) -> int:
        self._table.maintenance.expire_snapshots().older_than(before).commit()
        needed = set(self._needed())
        gone = 0
        for folder in ("data", "metadata"):
            for file in (self.path / folder).rglob("*"):
                if file.is_file() and str(file) not in needed and file.stat().st_mtime < before.timestamp():
                    file.unlink()
                    gone += 1
        return gone

    def _needed(self) -> Iterator[str]:
        yield from (entry.metadata_file for entry in self._table.metadata.metadata_log)
        yield self._table.metadata_location
        seen = set()
        for snapshot in self._table.snapshots():
            yield snapshot.manifest_list
            for manifest in snapshot.manifests(self._table.io):
                if manifest.manifest_path not in seen:
                    seen.add(manifest.manifest_path)
                    yield manifest.manifest_path
                    entries = manifest.fetch_manifest_entry(self._table.io, discard_deleted=True)
                    yield from (entry.data_file.file_path for entry in entries)

    def _ancestors(self) -> Iterator[Snapshot]:
        snapshot = self._table.current_snapshot()
        while snapshot is not None:
            yield snapshot
            parent = snapshot.parent_snapshot_id
            snapshot = self._table.snapshot_by_id(parent) if parent is not None else None

    def _file(self, file: DataFile) -> TableFile:
        partition, offset = (self._table.schema().find_field(name).field_id for name in ("partition", "kafka_offset"))
        return TableFile(
            file.file_path,
            _EPOCH + datetime.timedelta(days=file.partition[0]),
            file.record_count,
            file.file_size_in_bytes,
            _integer(file.lower_bounds[partition]),
            _integer(file.upper_bounds[partition]),
            _integer(file.lower_bounds[offset]),
            _integer(file.upper_bounds[offset]),
        )


def _integer(bound: bytes) -> int:
    return int.from_bytes(bound, "little", signed=True)


def _catalog(path: Path) -> SqlCatalog:
    return SqlCatalog("headrace", uri=f"sqlite:///{path / CATALOG_FILE}", warehouse=str(path))


def _plain(field: Any) -> pa.Field:
    """Iceberg's own reading of a schema has large types; the columns we write have not."""
    return pa.field(field.name, _plain_type(field.type))


def _plain_type(type_: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(type_):
        return pa.struct([_plain(field) for field in type_])
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return list_of(_plain_type(type_.value_type))
    if pa.types.is_large_string(type_):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(type_) else type_
