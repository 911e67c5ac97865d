"""Every rule a producer's batch must keep, and the code that Kafka gives to one that does not."""

import pytest

from batches import NOW, batch, changed, config
from headrace.base.errors import Refused
from headrace.partition.admission import SPAN_MAX, RecordsRefused, admit, repacked
from headrace.wire.batch import parse_header
from headrace.wire.codes import ErrorCode
from headrace.wire.records import read_records

GOOD = batch(b"one", b"two")
PRODUCED = {"producer_id": 1, "producer_epoch": 0, "base_sequence": 0}
HOUR_MS = 3_600_000


def refusal(content: bytes, version: int = 9, **settings: object) -> int | None:
    """The code; None when the batch is let in."""
    try:
        admit(memoryview(bytearray(content)), parse_header(content), config(**settings), version, NOW)
    except Refused as refused:
        assert refused.message, "a refusal says why"
        return refused.code
    return None


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("fields", [{}, PRODUCED], ids=["plain", "idempotent"])
def test_a_good_batch_is_let_in(codec: int, fields: dict[str, int]) -> None:
    assert refusal(batch(b"one", b"two", codec=codec, **fields)) is None


BROKEN = {
    "bytes behind it": (bytes(GOOD) + b"x", ErrorCode.INVALID_RECORD),
    "cut short": (GOOD[:-1], ErrorCode.INVALID_RECORD),
    "two of them": (bytes(GOOD) * 2, ErrorCode.INVALID_RECORD),
    "magic": (changed(GOOD, magic=1), ErrorCode.INVALID_RECORD),
    "no records": (changed(GOOD, record_count=0, last_offset_delta=-1), ErrorCode.INVALID_RECORD),
    "count and delta": (changed(GOOD, record_count=3), ErrorCode.INVALID_RECORD),
    "more records than bytes": (changed(GOOD, record_count=100, last_offset_delta=99), ErrorCode.INVALID_RECORD),
    "control": (changed(GOOD, attributes=0x20), ErrorCode.INVALID_RECORD),
    "delete horizon": (changed(GOOD, attributes=0x40), ErrorCode.INVALID_RECORD),
    "transactional without a producer": (changed(GOOD, attributes=0x10), ErrorCode.INVALID_RECORD),
    "append time": (changed(GOOD, attributes=0x08), ErrorCode.INVALID_TIMESTAMP),
    "codec": (changed(GOOD, attributes=5), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    "no epoch": (changed(GOOD, producer_id=1, base_sequence=0), ErrorCode.INVALID_RECORD),
    "no sequence": (changed(GOOD, producer_id=1, producer_epoch=0), ErrorCode.INVALID_RECORD),
    "checksum": (GOOD[:-1] + b"x", ErrorCode.CORRUPT_MESSAGE),
}


@pytest.mark.parametrize(("content", "code"), BROKEN.values(), ids=BROKEN)
def test_a_broken_batch_is_refused(content: bytes, code: int) -> None:
    assert refusal(content) == code


@pytest.mark.parametrize(
    "fields",
    [
        {"last_offset_delta": 7},
        {"last_offset_delta": SPAN_MAX - 1},
        {"record_count": 0, "last_offset_delta": 0},
        {"attributes": 0x08},
        {"attributes": 0x40},
    ],
    ids=str,
)
def test_a_topic_that_is_restored_takes_what_brokers_make_of_batches(fields: dict[str, int]) -> None:
    assert refusal(changed(GOOD, **fields)) is not None
    assert refusal(changed(GOOD, **fields), headrace_restoring="a backup") is None


@pytest.mark.parametrize(
    "fields",
    [
        {"last_offset_delta": SPAN_MAX},
        {"last_offset_delta": 0},
        {"last_offset_delta": -1},
        {"record_count": -1},
        {"attributes": 0x20},
        {"attributes": 0x10},
        {"attributes": 5},
    ],
    ids=str,
)
def test_and_no_more_than_that(fields: dict[str, int]) -> None:
    assert refusal(changed(GOOD, **fields), headrace_restoring="a backup") is not None


def test_zstd_since_version_7() -> None:
    packed = batch(b"v" * 100, codec=4)
    assert refusal(packed, version=6) == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert refusal(packed, version=7) is None


def test_the_topics_limits() -> None:
    large = batch(b"v" * 2000)
    assert refusal(large, max_message_bytes=len(large)) is None
    assert refusal(large, max_message_bytes=len(large) - 1) == ErrorCode.MESSAGE_TOO_LARGE
    larger = batch(bytes(1 << 20))
    limits = {"max_message_bytes": 10 << 20, "segment_bytes": 1 << 20}
    assert refusal(larger, **limits) == ErrorCode.RECORD_LIST_TOO_LARGE


@pytest.mark.parametrize(
    ("timestamp", "settings", "is_let_in"),
    [
        (NOW.wall + HOUR_MS, {}, True),
        (NOW.wall + HOUR_MS + 1, {}, False),
        (NOW.wall + HOUR_MS + 1, {"message_timestamp_after_max_ms": 2 * HOUR_MS}, True),
        (0, {}, True),
        (-1, {}, True),
        (NOW.wall - 1001, {"message_timestamp_before_max_ms": 1000}, False),
        (NOW.wall - 1000, {"message_timestamp_before_max_ms": 1000}, True),
        (NOW.wall + HOUR_MS + 1, {"message_timestamp_type": "LogAppendTime"}, True),
    ],
)
def test_the_bounds_of_time(timestamp: int, settings: dict[str, object], is_let_in: bool) -> None:
    code = refusal(batch(timestamp=timestamp), **settings)
    assert code == (None if is_let_in else ErrorCode.INVALID_TIMESTAMP)


def open_for(content: bytes, **settings: object) -> memoryview:
    return memoryview(repacked(memoryview(bytearray(content)), parse_header(content), config(**settings)))


def test_a_compacted_topic_wants_keys_and_says_which_records_have_none() -> None:
    keyed = batch(b"one", b"two")
    assert bytes(open_for(keyed, cleanup_policy="compact")) == bytes(keyed)
    with pytest.raises(RecordsRefused) as refused:
        open_for(batch(b"one", b"two", key=None), cleanup_policy="compact")
    assert (refused.value.code, refused.value.record_indexes) == (ErrorCode.INVALID_RECORD, [0, 1])


@pytest.mark.parametrize("wanted", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_a_topic_with_a_codec_of_its_own_packs_again(wanted: str) -> None:
    sent = batch(b"one" * 100, b"two" * 100, codec=3, **PRODUCED)
    stored = open_for(sent, compression_type=wanted)
    header = parse_header(stored)
    assert header.codec == ["uncompressed", "gzip", "snappy", "lz4", "zstd"].index(wanted)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1, 0, 0)
    assert read_records(stored) == read_records(sent)
    assert refusal(bytes(stored)) is None


def test_what_cannot_be_opened_is_corrupt() -> None:
    packed = batch(b"v" * 1000, codec=1)
    with pytest.raises(Refused) as refused:
        open_for(changed(packed[:70], batch_length=58), cleanup_policy="compact")
    assert refused.value.code == ErrorCode.CORRUPT_MESSAGE
