"""The face that every table format shows the lake, and the files it is made of.

The rule all three keep: a commit adds files and moves the offsets in one step, or does neither; and it is refused when
the table's offsets are not those the batch began with. So a batch counts once, however often it was written.
"""

import datetime
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import pyarrow as pa

from headrace.base.errors import UserError
from headrace.base.other_format import other_format
from headrace.pipelines.ranges import Offsets

VERSION = 1
"""The version of a table's note about itself; it stands beside the source, from version 2 on."""
OFFSETS = "headrace.offsets"
SOURCE = "headrace.source"
DECODE = "headrace.decode"


class TableSource(NamedTuple):
    """Where a table's rows come from. Offsets of another topic, or of one made anew, mean nothing to it."""

    cluster_id: str
    topic: str
    topic_id: str


class TableFile(NamedTuple):
    path: str  # absolute
    day: datetime.date
    rows: int
    bytes: int
    partition_min: int
    partition_max: int
    offset_min: int
    offset_max: int


class FilePlace(NamedTuple):
    """Where tasks put files: in `root`, a folder a day. `staged` under names that readers of the folder pass over."""

    root: str
    staged: bool = False

    def file(self, day: datetime.date, name: str) -> Path:
        staged = f".{name}.staged" if self.staged else f"{name}.parquet"
        return Path(self.root) / f"day={day.isoformat()}" / staged


class Table(Protocol):
    format: str
    path: Path

    @property
    def place(self) -> FilePlace: ...

    @property
    def source(self) -> TableSource: ...

    @property
    def decode(self) -> str:
        """How values are decoded: chosen when the table is made."""
        ...

    def offsets(self) -> Offsets:
        """The next offset that the table lacks, by partition."""
        ...

    def columns(self) -> pa.Schema:
        """The columns decoded from values, beside the record's own."""
        ...

    def grow(self, columns: pa.Schema) -> None:
        """Adds what of these it does not have, in structs too."""
        ...

    def commit(self, files: Sequence[TableFile], before: Offsets, after: Offsets) -> None: ...

    def files(self) -> list[TableFile]: ...

    def replace(self, old: Sequence[TableFile], new: Sequence[TableFile]) -> None:
        """The same rows in other files; the offsets stay."""
        ...

    def forget(self, before: datetime.datetime) -> int:
        """Deletes files that no version younger than this needs, those of unfinished batches among them; how many."""
        ...


class TableOvertaken(UserError):
    def __init__(self, path: str) -> None:
        super().__init__(
            f"{path}: another run has written to this table since this batch began",
            "let one run at a time write to a table; nothing is lost or doubled: start this one again",
        )


def offsets_text(offsets: Mapping[int, int]) -> str:
    return json.dumps({str(partition): offsets[partition] for partition in sorted(offsets)})


def parse_offsets(text: str) -> Offsets:
    return {int(partition): offset for partition, offset in json.loads(text).items()}


def source_text(source: TableSource) -> str:
    return json.dumps(source._asdict())


def parse_source(text: str) -> TableSource:
    """Refuses that of a newer version."""
    fields = json.loads(text)
    version = fields.pop("v", VERSION)
    if version != VERSION:
        raise other_format("this table", version, VERSION)
    return TableSource(**fields)
