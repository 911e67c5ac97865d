"""Which of the fetched records a reader sees, and where it goes on."""

from headrace.client.cluster_client import AbortedRecords, Fetched
from headrace.gateway.visible import VisibleRecords
from headrace.wire.records import Marker, Record, build_batch, build_marker


def fetched(*batches: bytes, aborted: tuple[AbortedRecords, ...] = ()) -> Fetched:
    return Fetched(memoryview(b"".join(batches)), 100, 100, 0, aborted, next_offset=100)


def batch(base: int, *values: bytes, producer_id: int = -1) -> bytes:
    records = [Record(timestamp=1, value=value) for value in values]
    return build_batch(records, base_offset=base, producer_id=producer_id, transactional=producer_id >= 0)


def marker(base: int, producer_id: int, commit: bool) -> bytes:
    return build_marker(Marker(commit, 0), producer_id=producer_id, producer_epoch=0, timestamp=1, base_offset=base)


def seen(of: Fetched, offset: int = 0) -> tuple[list[bytes | None], int]:
    visible = VisibleRecords(of, offset)
    return [record.value for record in visible], visible.next_offset


def test_a_batch_that_begins_before_the_offset() -> None:
    assert seen(fetched(batch(0, b"a", b"b", b"c")), 1) == ([b"b", b"c"], 3)


def test_a_reader_that_stops_goes_on_there() -> None:
    visible = VisibleRecords(fetched(batch(0, b"a", b"b", b"c")), 0)
    assert next(iter(visible)).value == b"a"
    assert visible.next_offset == 1


def test_markers_move_the_reader_on() -> None:
    assert seen(fetched(batch(0, b"a", producer_id=7), marker(1, 7, commit=True))) == ([b"a"], 2)


def test_an_aborted_transaction_is_hidden_and_the_next_of_its_producer_is_not() -> None:
    batches = (
        batch(0, b"gone", producer_id=7),
        batch(1, b"other", producer_id=8),
        marker(2, 7, commit=False),
        batch(3, b"kept", producer_id=7),
        marker(4, 7, commit=True),
    )
    assert seen(fetched(*batches, aborted=(AbortedRecords(7, 0),))) == ([b"other", b"kept"], 5)


def test_offsets_that_compaction_took_are_passed_over() -> None:
    cleaned = build_batch([Record(offset=12, timestamp=1, value=b"a")], base_offset=10, last_offset_delta=9)
    assert seen(fetched(cleaned), 10) == ([b"a"], 20)
    assert seen(fetched(cleaned), 15) == ([], 20)


def test_nothing_fetched() -> None:
    assert seen(fetched(), 5) == ([], 5)
