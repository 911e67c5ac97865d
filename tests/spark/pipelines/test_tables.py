"""Every table format keeps the lake's rules: a batch counts once or not at all, and readers see nothing else."""

import datetime
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.base.errors import UserError
from headrace.pipelines.columns import RAW
from headrace.pipelines.compaction import small_files
from headrace.pipelines.day_files import DayFiles
from headrace.pipelines.tables.open import FORMATS, create_table, find_table, open_table
from headrace.pipelines.tables.table import TableFile, TableOvertaken, TableSource, parse_source, source_text

SOURCE = TableSource("cluster", "orders", "id")
NOON = datetime.datetime(2026, 11, 16, 12, tzinfo=datetime.UTC)


@pytest.fixture(params=FORMATS)
def table(request, tmp_path):
    return create_table(tmp_path / "table", request.param, SOURCE, "json")


def rows_of(first, count, partition=0, at=NOON, **decoded):
    columns = {
        "key": [b"k"] * count,
        "value": [b"v%d" % offset for offset in range(first, first + count)],
        "headers": [[{"key": "h", "value": b"x"}]] * count,
        "topic": ["orders"] * count,
        "partition": [partition] * count,
        "kafka_offset": list(range(first, first + count)),
        "timestamp": [at] * count,
        "timestamp_type": [0] * count,
        "decode_error": [None] * count,
    }
    decoded_fields = [pa.field(name, array.type) for name, array in decoded.items()]
    schema = pa.schema([*RAW, *decoded_fields])
    return pa.RecordBatch.from_pydict({**columns, **decoded}, schema=schema)


def write(table, *batches):
    files = DayFiles(table.place, batches[0].schema)
    for batch in batches:
        files.add(batch)
    return files.close()


def offsets_in(table):
    """As any reader would see it: the files that the table names."""
    return sorted(
        offset for file in table.files() for offset in pq.read_table(file.path, columns=["kafka_offset"])[0].to_pylist()
    )


def test_a_commit_adds_files_and_moves_offsets(table):
    assert table.offsets() == {} and table.files() == []
    table.commit(write(table, rows_of(0, 5), rows_of(7, 2, partition=1)), {}, {0: 5, 1: 9})
    table.commit(write(table, rows_of(5, 3)), {0: 5, 1: 9}, {0: 8, 1: 9})
    for seen in (table, open_table(table.path)):
        assert seen.offsets() == {0: 8, 1: 9}
        assert offsets_in(seen) == [0, 1, 2, 3, 4, 5, 6, 7, 7, 8]
        assert seen.source == SOURCE and seen.decode == "json"


def test_a_file_has_one_day(table):
    table.commit(write(table, rows_of(0, 2), rows_of(2, 2, at=NOON + datetime.timedelta(days=1))), {}, {0: 4})
    assert {file.day: file.rows for file in table.files()} == {
        datetime.date(2026, 11, 16): 2,
        datetime.date(2026, 11, 17): 2,
    }


def test_a_record_without_a_time_is_stored_too(table):
    table.commit(
        write(table, rows_of(0, 1, at=datetime.datetime(1969, 12, 31, 23, 59, 59, 999000, datetime.UTC))), {}, {0: 1}
    )
    assert [file.day for file in table.files()] == [datetime.date(1969, 12, 31)]


def test_of_two_runs_that_wrote_the_same_batch_one_counts(table):
    other = open_table(table.path)
    mine, others = write(table, rows_of(0, 5)), write(other, rows_of(0, 5))
    table.commit(mine, {}, {0: 5})
    with pytest.raises(TableOvertaken):
        other.commit(others, {}, {0: 5})
    assert offsets_in(open_table(table.path)) == [0, 1, 2, 3, 4]


def test_a_batch_that_begins_elsewhere_is_refused(table):
    table.commit(write(table, rows_of(0, 5)), {}, {0: 5})
    with pytest.raises(TableOvertaken):
        table.commit(write(table, rows_of(3, 5)), {0: 3}, {0: 8})
    assert table.offsets() == {0: 5}


def test_columns_grow_in_structs_too(table):
    table.commit(write(table, rows_of(0, 1)), {}, {0: 1})
    first = pa.schema([("at", pa.struct([("x", pa.int64())]))])
    table.grow(first)
    assert table.columns() == first
    second = pa.schema([("at", pa.struct([("x", pa.int64()), ("y", pa.string())])), ("id", pa.int64())])
    table.grow(second)
    for seen in (table, open_table(table.path)):
        assert sorted(seen.columns().names) == ["at", "id"]
        assert seen.columns().field("at").type == second.field("at").type
        assert seen.offsets() == {0: 1}


def test_files_are_replaced_and_old_ones_forgotten(table):
    offsets = {}
    for first in range(0, 10, 2):
        table.commit(write(table, rows_of(first, 2)), offsets, {0: first + 2})
        offsets = {0: first + 2}
    old = table.files()
    merged = write(table, *(rows_of(first, 2) for first in range(0, 10, 2)))
    table.replace(old, merged)
    assert len(table.files()) == 1 and offsets_in(table) == list(range(10)) and table.offsets() == {0: 10}
    abandoned = write(table, rows_of(10, 2))
    table.forget(datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=1))
    assert not Path(abandoned[0].path).exists()
    on_disk = sorted(Path(table.path).rglob("*.parquet"))
    assert [str(path) for path in on_disk] == [file.path for file in table.files()]
    assert offsets_in(open_table(table.path)) == list(range(10)) and open_table(table.path).offsets() == {0: 10}
    table.commit(write(table, rows_of(10, 1)), {0: 10}, {0: 11})
    assert offsets_in(open_table(table.path)) == list(range(11))


def test_young_files_of_another_run_are_left_alone(table):
    files = write(table, rows_of(0, 2))
    table.forget(datetime.datetime.now(datetime.UTC) - datetime.timedelta(hours=1))
    table.commit(files, {}, {0: 2})
    assert offsets_in(table) == [0, 1]


def test_a_parquet_folder_shows_nothing_before_its_commit(tmp_path):
    table = create_table(tmp_path, "parquet", SOURCE, "none")
    files = write(table, rows_of(0, 2))
    assert list(tmp_path.rglob("*.parquet")) == []
    table.commit(files, {}, {0: 2})
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_a_parquet_commit_that_was_cut_short_is_finished_by_the_next_to_open_it(tmp_path, monkeypatch):
    table = create_table(tmp_path, "parquet", SOURCE, "none")
    files = write(table, rows_of(0, 2), rows_of(2, 2, at=NOON + datetime.timedelta(days=1)))
    monkeypatch.setattr(table, "_finish", lambda: None)
    table.commit(files, {}, {0: 4})
    assert list(tmp_path.rglob("*.parquet")) == []
    assert offsets_in(open_table(tmp_path)) == [0, 1, 2, 3]


def test_an_iceberg_table_that_was_rolled_back_goes_on_from_there(tmp_path):
    table = create_table(tmp_path, "iceberg", SOURCE, "none")
    table.commit(write(table, rows_of(0, 2)), {}, {0: 2})
    first = table._table.current_snapshot().snapshot_id
    table.commit(write(table, rows_of(2, 2)), {0: 2}, {0: 4})
    with table._table.manage_snapshots() as snapshots:
        snapshots.rollback_to_snapshot(first)
    assert open_table(tmp_path).offsets() == {0: 2}


def test_no_table_is_made_among_other_files(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    assert find_table(tmp_path) is None and find_table(tmp_path / "nowhere") is None
    with pytest.raises(UserError, match="not empty"):
        create_table(tmp_path, "iceberg", SOURCE, "none")
    with pytest.raises(UserError, match="no lake table"):
        open_table(tmp_path)


def sized(name, day, size, offset):
    return TableFile(name, datetime.date(2026, 11, day), 1, size, 0, 0, offset, offset)


def test_only_small_files_of_one_day_are_merged():
    files = [sized(f"a{i}", 1, 10, i) for i in range(9)] + [sized(f"b{i}", 2, 10, i) for i in range(3)]
    files += [sized("large", 1, 100, 99)]
    assert small_files(files, files_min=4, bytes_max=100) == [files[:9]]
    assert small_files(files, files_min=4, bytes_max=50) == [files[:5], files[5:9]]
    assert small_files([], files_min=4, bytes_max=50) == []


def test_what_a_table_of_a_newer_version_says_of_itself_is_refused():
    told = json.dumps({"v": 2, **SOURCE._asdict()})
    with pytest.raises(UserError, match=r"this table .* has format 2, this version reads 1"):
        parse_source(told)
    assert parse_source(source_text(SOURCE)) == SOURCE
