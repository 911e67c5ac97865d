"""What a backup holds of a partition, as the batches that the new topic is written with: by the rules of the broker."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.backup.batches import SPAN_MAX, Restorable, next_sequence, restorable
from headrace.base.clock import Now
from headrace.client.cluster_client import AbortedRecords
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.topic_config import default_topic_config, topic_config
from headrace.partition.admission import SPAN_MAX as SPAN_ADMITTED
from headrace.partition.admission import admit
from headrace.wire.batch import BatchHeader, Identity, parse_header, stamp
from headrace.wire.records import Marker, Record, build_batch, build_marker, read_records

NOW = Now(0, 1_790_000_000_000)
PRODUCER = Identity(7, 3)
RESTORING = topic_config({"headrace.restoring": "a backup"}, default_topic_config(BrokerConfig({})))


def batch(first: int, *values: bytes, producer_id: int = -1, transactional: bool = False) -> tuple[BatchHeader, bytes]:
    records = [Record(-1, 1000, b"k", value, []) for value in values]
    produced = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": 0} if producer_id >= 0 else {}
    content = bytes(build_batch(records, base_offset=first, leader_epoch=9, transactional=transactional, **produced))
    return parse_header(content), content


def marker(at: int, producer_id: int, commit: bool) -> tuple[BatchHeader, bytes]:
    content = bytearray(build_marker(Marker(commit, 0), producer_id=producer_id, producer_epoch=0, timestamp=1000))
    stamp(content, 0, at, 9)
    return parse_header(content), bytes(content)


def written(batches: list[Restorable]) -> list[tuple[int, bytes]]:
    """As a broker takes them, one after the other: the offset of each record, and its value."""
    offset, sequence, found = 0, 0, []
    for each in batches:
        content = each.to_bytes(PRODUCER, sequence)
        header = parse_header(content)
        admit(memoryview(content), header, RESTORING, 9, NOW)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (*PRODUCER, sequence)
        assert not header.is_transactional and not header.is_control
        assert each.first == offset
        stamp(content, 0, offset, 0)
        if header.record_count:
            found += [(record.offset, record.value) for record in read_records(content)]
        offset, sequence = parse_header(content).next_offset, next_sequence(sequence, each)
        assert offset == each.next
    return found


def test_records_keep_their_offsets_and_the_log_its_end() -> None:
    batches = list(restorable([batch(5, b"a", b"b"), batch(9, b"c")], [], end=20))
    assert written(batches) == [(5, b"a"), (6, b"b"), (9, b"c")]
    assert (batches[0].first, batches[-1].next) == (0, 20)


def test_what_was_never_committed_goes_and_leaves_its_offsets() -> None:
    log = [
        batch(0, b"plain"),
        batch(1, b"aborted", producer_id=1, transactional=True),
        batch(2, b"committed", producer_id=2, transactional=True),
        marker(3, 1, commit=False),
        batch(4, b"committed later", producer_id=1, transactional=True),
        marker(5, 2, commit=True),
        marker(6, 1, commit=True),
        batch(7, b"end of it is behind the backup", producer_id=3, transactional=True),
    ]
    batches = list(restorable(log, [AbortedRecords(1, 1), AbortedRecords(3, 7)], end=8))
    assert written(batches) == [(0, b"plain"), (2, b"committed"), (4, b"committed later")]
    assert batches[-1].next == 8


@pytest.mark.parametrize("end", [0, 1, 12])
def test_a_log_with_nothing_left_keeps_its_end(end: int) -> None:
    batches = list(restorable([], [], end))
    assert written(batches) == [] and sum(each.next - each.first for each in batches) == end


def test_a_log_that_begins_far_behind_takes_few_batches() -> None:
    far = 5 * 2**31 + 17
    batches = list(restorable([batch(far, b"first"), batch(2 * far, b"second")], [], end=2 * far + 1))
    assert written(batches) == [(far, b"first"), (2 * far, b"second")]
    assert len(batches) < 20 and max(each.next - each.first for each in batches) == SPAN_MAX == SPAN_ADMITTED


class Step(NamedTuple):
    gap: int
    records: int
    fate: str


steps = st.lists(
    st.builds(Step, st.integers(0, 3), st.integers(1, 3), st.sampled_from(["plain", "committed", "aborted"]))
)


@given(steps, st.integers(0, 5))
def test_any_log_is_restored_to_what_a_committed_reader_saw(log: list[Step], tail: int) -> None:
    offset, batches, aborted, seen = 0, [], [], []
    for number, step in enumerate(log):
        offset += step.gap
        values = [b"%d" % (offset + each) for each in range(step.records)]
        is_transactional = step.fate != "plain"
        batches.append(
            batch(offset, *values, producer_id=number if is_transactional else -1, transactional=is_transactional)
        )
        if step.fate == "aborted":
            aborted.append(AbortedRecords(number, offset))
        else:
            seen += [(offset + each, value) for each, value in enumerate(values)]
        offset += step.records
        if is_transactional:
            batches.append(marker(offset, number, commit=step.fate == "committed"))
            offset += 1
    restored = list(restorable(batches, aborted, offset + tail))
    assert written(restored) == seen
    assert sum(each.next - each.first for each in restored) == offset + tail
