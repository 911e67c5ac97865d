"""A folder of Parquet files, a folder a day, for readers that know no table format: `PATH/*/*.parquet` is the table.

No reader of such a folder can be shown several files at once, but none sees a row that does not count or one twice: tasks
write under hidden names, the commit is one small file that is there or not, and only then are they renamed. A crash in
between is finished by whoever opens the table next.
Not atomic for readers: a compaction, in which they may for moments see rows in the old files and the new one.

    PATH/day=2026-11-16/….parquet
    PATH/_headrace/table.json   columns.arrow   0000000001.json …
"""

import base64
import datetime
import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.base.file_sync import full_sync
from headrace.pipelines.ranges import Offsets
from headrace.pipelines.tables.table import (
    DECODE,
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

_LOG = "_headrace"
_NO_COMMIT: dict[str, Any] = {"number": 0, "offsets": "{}", "add": [], "remove": []}


class ParquetFolder:
    format = "parquet"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._log = path / _LOG
        self._about = json.loads((self._log / "table.json").read_text())
        self.source = parse_source(self._about[SOURCE])
        self._last = self._newest()
        self._finish()

    @staticmethod
    def is_at(path: Path) -> bool:
        return (path / _LOG / "table.json").exists()

    @classmethod
    def open(cls, path: Path) -> "ParquetFolder":
        return cls(path)

    @classmethod
    def create(cls, path: Path, source: TableSource, decode: str) -> "ParquetFolder":
        (path / _LOG).mkdir(parents=True, exist_ok=True)
        _write(path / _LOG / "table.json", json.dumps({SOURCE: source_text(source), DECODE: decode}))
        return cls(path)

    @property
    def place(self) -> FilePlace:
        return FilePlace(str(self.path), staged=True)

    @property
    def decode(self) -> str:
        return str(self._about[DECODE])

    def offsets(self) -> Offsets:
        return parse_offsets(self._last["offsets"])

    def columns(self) -> pa.Schema:
        stored = self._log / "columns.arrow"
        return (
            pa.ipc.read_schema(pa.py_buffer(base64.b64decode(stored.read_text()))) if stored.exists() else pa.schema([])
        )

    def grow(self, columns: pa.Schema) -> None:
        _write(self._log / "columns.arrow", base64.b64encode(columns.serialize()).decode())

    def commit(self, files: Sequence[TableFile], before: Offsets, after: Offsets) -> None:
        if self.offsets() != before:
            raise TableOvertaken(str(self.path))
        self._commit(offsets_text(after), files, [])

    def files(self) -> list[TableFile]:
        return [_described(path) for path in sorted(self.path.glob("day=*/*.parquet"))]

    def replace(self, old: Sequence[TableFile], new: Sequence[TableFile]) -> None:
        self._commit(self._last["offsets"], new, old)

    def forget(self, before: datetime.datetime) -> int:
        abandoned = [path for path in self.path.glob("day=*/.*.staged") if path.stat().st_mtime < before.timestamp()]
        for path in abandoned:
            path.unlink()
        return len(abandoned)

    def _commit(self, offsets: str, added: Sequence[TableFile], removed: Sequence[TableFile]) -> None:
        commit = {
            "number": self._last["number"] + 1,
            "offsets": offsets,
            "add": [str(Path(file.path).relative_to(self.path)) for file in added],
            "remove": [str(Path(file.path).relative_to(self.path)) for file in removed],
        }
        partial = self._log / f"{uuid.uuid4().hex}.partial"
        _write(partial, json.dumps(commit))
        try:
            # A link is made only where no such name is: of two runs that commit the same number one is refused.
            os.link(partial, self._log / _commit_name(commit["number"]))
        except FileExistsError:
            raise TableOvertaken(str(self.path)) from None
        finally:
            partial.unlink()
        self._last = commit
        self._finish()

    def _finish(self) -> None:
        """Renames and deletes what the last commit says; done before the next one, so it is the only one to look at."""
        for name in self._last["add"]:
            staged = self.path / name
            if staged.exists():
                staged.rename(staged.with_name(f"{staged.name.strip('.').removesuffix('.staged')}.parquet"))
        for name in self._last["remove"]:
            (self.path / name).unlink(missing_ok=True)
        for file in self._log.glob("0*.json"):
            if file.name < _commit_name(self._last["number"] - 1):
                file.unlink(missing_ok=True)

    def _newest(self) -> dict[str, Any]:
        commits = sorted(self._log.glob("0*.json"))
        return json.loads(commits[-1].read_text()) if commits else _NO_COMMIT


def _described(path: Path) -> TableFile:
    footer = pq.read_metadata(path)
    names = [footer.row_group(0).column(i).path_in_schema for i in range(footer.num_columns)]
    bounds = {}
    for name in ("partition", "kafka_offset"):
        statistics = [footer.row_group(i).column(names.index(name)).statistics for i in range(footer.num_row_groups)]
        bounds[name] = (min(each.min for each in statistics), max(each.max for each in statistics))
    day = datetime.date.fromisoformat(path.parent.name.removeprefix("day="))
    return TableFile(
        str(path), day, footer.num_rows, path.stat().st_size, *bounds["partition"], *bounds["kafka_offset"]
    )


def _commit_name(number: int) -> str:
    return f"{number:010}.json"


def _write(path: Path, text: str) -> None:
    """Writes a file whole or not at all, and syncs it."""
    partial = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        full_sync(file.fileno())
    partial.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        full_sync(directory)
    finally:
        os.close(directory)
