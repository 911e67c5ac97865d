"""`log dump` on segment files built here: what is sound, torn or damaged is told apart."""

from pathlib import Path

import pytest

from headrace.log.index import IndexSummary, SparseIndex, encode_index
from headrace.wire.records import Marker, Record, build_batch, build_marker


def batch(base_offset: int, values: list[bytes], **options: int) -> bytes:
    records = [
        Record(key=b"k\xff", value=value, timestamp=1_700_000_000_000, headers=[("h", b"x")]) for value in values
    ]
    return build_batch(records, base_offset=base_offset, leader_epoch=3, **options)


BATCHES = [
    batch(10, [b"a", b"b"]),
    batch(12, [b"c" * 200], codec=4, producer_id=77, producer_epoch=1, base_sequence=5),
    build_marker(
        Marker(commit=True, coordinator_epoch=2), producer_id=77, producer_epoch=1, timestamp=1, base_offset=13
    ),
]


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    directory = tmp_path / "broker-1" / "logs" / "orders-0"
    directory.mkdir(parents=True)
    path = directory / f"{10:020d}.log"
    path.write_bytes(b"".join(BATCHES))
    return path


def write_index(segment: Path, positions: list[int], offsets: list[int]) -> None:
    index = SparseIndex()
    for position, offset in zip(positions, offsets, strict=True):
        index.add(offset, position, 0)
    summary = IndexSummary(
        base_offset=10,
        log_bytes=segment.stat().st_size,
        next_offset=14,
        max_timestamp=1_700_000_000_000,
        first_append_ms=0,
        entries=len(index),
    )
    segment.with_suffix(".index").write_bytes(encode_index(index, summary))


def test_shows_every_batch(offline_cli, segment: Path) -> None:
    ran = offline_cli("log", "dump", str(segment), "--json", "--records")
    *batches, end = ran.json_lines
    assert ran.code == 0
    assert [(b["base_offset"], b["last_offset"], b["record_count"], b["codec"], b["crc_ok"]) for b in batches] == [
        (10, 11, 2, "none", True),
        (12, 12, 1, "zstd", True),
        (13, 13, 1, "none", True),
    ]
    assert batches[0]["leader_epoch"] == 3
    assert batches[0]["records"][1] == {
        "offset": 11,
        "timestamp": 1_700_000_000_000,
        "key_base64": "a/8=",
        "value": "b",
        "headers": [{"name": "h", "value": "x"}],
    }
    assert batches[1]["producer_id"] == 77
    assert batches[2]["control"] and batches[2]["records"] == [{"commit": True, "coordinator_epoch": 2}]
    assert (end["batches"], end["first_offset"], end["next_offset"], end["damage"]) == (3, 10, 14, [])


def test_text_form_names_what_matters(offline_cli, segment: Path) -> None:
    ran = offline_cli("log", "dump", str(segment), "--records")
    assert ran.code == 0
    for word in (
        "POSITION",
        "zstd",
        "tx,control",
        "2023-11-14T22:13:20.000Z",
        "commit=True",
        "3 batches, offsets 10 to 13",
    ):
        assert word in ran.text


def test_finds_the_partition_below_the_data_root(offline_cli, tmp_path: Path, segment: Path) -> None:
    other = tmp_path / "broker-1" / "logs" / "orders-extra-0"
    other.mkdir()
    (other / f"{0:020d}.log").write_bytes(batch(0, [b"z"]))
    for place in (tmp_path, tmp_path / "broker-1"):
        for partition in (["0"], []):
            ran = offline_cli("log", "dump", str(place), "orders", *partition, "--json", "--summary")
            assert [end["segment"] for end in ran.json_lines] == [str(place / segment.relative_to(place))]


def test_a_window_of_batches(offline_cli, segment: Path) -> None:
    ran = offline_cli("log", "dump", str(segment), "--json", "--from", "11", "-n", "2")
    assert [line.get("base_offset") for line in ran.json_lines] == [10, 12, None]


def test_a_torn_end_is_no_damage(offline_cli, segment: Path) -> None:
    segment.write_bytes(segment.read_bytes() + batch(14, [b"torn"])[:-3])
    ran = offline_cli("log", "dump", str(segment), "--json", "--summary")
    assert (ran.code, ran.json["torn_bytes"], ran.json["batches"]) == (0, len(batch(14, [b"torn"])) - 3, 3)


def test_a_flipped_bit_is_damage(offline_cli, segment: Path) -> None:
    content = bytearray(segment.read_bytes())
    content[len(BATCHES[0]) + 70] ^= 1
    segment.write_bytes(content)
    ran = offline_cli("log", "dump", str(segment), "--json", "--summary")
    assert ran.code == 1
    assert ran.json["damage"] == [f"wrong CRC at position {len(BATCHES[0])}"]


def test_an_offset_that_goes_back_is_damage(offline_cli, segment: Path) -> None:
    segment.write_bytes(BATCHES[1] + BATCHES[0])
    ran = offline_cli("log", "dump", str(segment), "--summary")
    assert ran.code == 1
    assert "offset 10 at position" in ran.text


def test_rubbish_is_damage(offline_cli, segment: Path) -> None:
    segment.write_bytes(BATCHES[0] + b"\0" * 100)
    ran = offline_cli("log", "dump", str(segment), "--summary")
    assert ran.code == 1
    assert f"no batch at position {len(BATCHES[0])}" in ran.text


def test_the_index_is_held_against_the_log(offline_cli, segment: Path) -> None:
    second = len(BATCHES[0])
    write_index(segment, [second], [2])
    assert offline_cli("log", "dump", str(segment), "--json", "--summary").json["index"] == "ok, 1 entries"
    write_index(segment, [second], [1])
    wrong = offline_cli("log", "dump", str(segment), "--json", "--summary")
    assert (wrong.code, wrong.json["index"]) == (1, "index entry 0 points at no batch")
    segment.with_suffix(".index").write_bytes(b"rubbish")
    damaged = offline_cli("log", "dump", str(segment), "--json", "--summary")
    assert (damaged.code, damaged.json["index"]) == (0, "damaged (the broker builds it again)")


def test_what_is_not_there(offline_cli, tmp_path: Path, segment: Path) -> None:
    for words in (
        [str(tmp_path / "nothing")],
        [str(tmp_path), "absent", "0"],
        [str(tmp_path), "orders", "7"],
        [str(tmp_path)],
    ):
        ran = offline_cli("log", "dump", *words)
        assert ran.code == 3, ran
        assert "error:" in ran.err and "fix:" in ran.err
