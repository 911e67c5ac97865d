"""Finds the table in a folder by what lies there, or makes one."""

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from headrace.base.errors import UserError
from headrace.pipelines.tables.table import Table, TableSource

Format = Literal["iceberg", "delta", "parquet"]
FORMATS: tuple[Format, ...] = ("iceberg", "delta", "parquet")
# What a first run that was killed may have left.
_LEFT_OVER = {"catalog.db", "catalog.db-journal", "metadata", "_delta_log", "_headrace"}
_LIBRARIES = {"iceberg": "pyiceberg", "delta": "deltalake", "parquet": "pyarrow"}


class _Kind(NamedTuple):
    is_at: Callable[[Path], bool]
    open: Callable[[Path], Table]
    create: Callable[[Path, TableSource, str], Table]


def open_table(path: str | Path) -> Table:
    """The table in a folder; UserError where there is none."""
    found = find_table(path)
    if found is None:
        raise UserError(f"{path}: there is no lake table here", "`headrace pipeline lake TOPIC --to PATH` makes one")
    return found


def find_table(path: str | Path) -> Table | None:
    folder = Path(path).resolve()
    if not folder.is_dir():
        return None
    for name in FORMATS:
        if find_spec(_LIBRARIES[name]) is not None and (kind := _kind(name)).is_at(folder):
            return kind.open(folder)
    return None


def create_table(path: str | Path, format: Format, source: TableSource, decode: str) -> Table:
    folder = Path(path).resolve()
    if find_spec(_LIBRARIES[format]) is None:
        raise UserError(f"{_LIBRARIES[format]} is not installed", "pip install 'headrace[spark]'")
    if folder.exists() and (not folder.is_dir() or {each.name for each in folder.iterdir()} - _LEFT_OVER):
        raise UserError(f"{path}: this is not empty, and no lake table", "name a new or an empty folder with --to")
    return _kind(format).create(folder, source, decode)


def _kind(format: Format) -> _Kind:
    # Each brings a library of its own, which the other two need not pay for.
    if format == "iceberg":
        from headrace.pipelines.tables.iceberg import IcebergTable

        return _Kind(IcebergTable.is_at, IcebergTable.open, IcebergTable.create)
    if format == "delta":
        from headrace.pipelines.tables.delta import DeltaLakeTable

        return _Kind(DeltaLakeTable.is_at, DeltaLakeTable.open, DeltaLakeTable.create)
    from headrace.pipelines.tables.parquet import ParquetFolder

    return _Kind(ParquetFolder.is_at, ParquetFolder.open, ParquetFolder.create)
