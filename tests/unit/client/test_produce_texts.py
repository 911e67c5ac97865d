"""Batches of text go another way through the gateway than messages of all kinds, and come out the same."""

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.client.produce.encode import RecordBytes
from headrace.client.produce.outgoing import Outgoing
from headrace.client.produce.partitioner import partitions_of
from headrace.client.produce.texts import SIZE_MAX, Texts, as_texts
from headrace.gateway.messages.incoming import parse_message, parse_messages
from headrace.wire.batch import Identity, parse_header
from headrace.wire.records import read_records

US = Identity(7, 0)
NOW_MS = 1_700_000_000_000
LARGE = 1 << 20
texts = st.text(max_size=100) | st.sampled_from(["", "ü" * 200, "x" * 63, "x" * 64, "x" * (SIZE_MAX - 1)])
columns = st.integers(1, 80).flatmap(
    lambda count: st.tuples(
        st.lists(texts, min_size=count, max_size=count),
        st.none() | st.lists(texts, min_size=count, max_size=count),
    )
)
Columns = tuple[list[str], list[str] | None]


def both(values: list[str], keys: list[str] | None) -> tuple[Texts, list[Outgoing]]:
    messages = as_texts(values, keys)
    assert messages is not None
    return messages, [
        Outgoing(value.encode(), None if keys is None else keys[index].encode()) for index, value in enumerate(values)
    ]


@given(columns)
@example((["x"] * 130, ["k"] * 130))
def test_they_are_the_same_messages(drawn: Columns) -> None:
    as_columns, one_by_one = both(*drawn)
    assert list(as_columns) == one_by_one
    assert list(as_columns[2:5]) == one_by_one[2:5]
    some = list(range(0, len(one_by_one), 3))
    assert list(as_columns.picked(some)) == [one_by_one[index] for index in some]
    assert partitions_of(as_columns, 7, 5) == partitions_of(one_by_one, 7, 5)


@given(columns, columns, st.integers(0, 4))
def test_they_make_the_same_batch(first: Columns, second: Columns, codec: int) -> None:
    as_columns, one_by_one = RecordBytes(NOW_MS, LARGE), RecordBytes(NOW_MS, LARGE)
    for drawn in (first, second):
        texts, messages = both(*drawn)
        assert as_columns.add(texts) == one_by_one.add(messages) == len(messages)
    assert as_columns.sealed(US, 5, codec) == one_by_one.sealed(US, 5, codec)


def test_they_share_a_batch_with_messages_of_another_time() -> None:
    records = RecordBytes(NOW_MS, LARGE)
    texts, _ = both(["a", "b"], None)
    assert records.add([Outgoing(b"old", timestamp=NOW_MS - 1000)]) == 1
    assert records.add(texts) == 2
    assert records.add([Outgoing(b"late", timestamp=NOW_MS + 5)]) == 1
    read = [(each.value, each.timestamp - NOW_MS) for each in read_records(records.sealed(US, 0, 0))]
    assert read == [(b"old", -1000), (b"a", 0), (b"b", 0), (b"late", 5)]


@pytest.mark.parametrize(("room", "count"), [(50, 1), (100, 1), (1000, 8), (5000, 20), (LARGE, 20)])
def test_a_batch_has_room_for_some_of_them_and_always_for_the_first(room: int, count: int) -> None:
    texts, messages = both(["x" * 100] * 20, ["key"] * 20)
    records = RecordBytes(NOW_MS, room)
    taken = 0
    while taken < len(texts) and (more := records.add(texts[taken:])):
        taken += more
    batch = records.sealed(US, 0, 0)
    assert [each.value for each in read_records(batch)] == [each.value for each in messages[:taken]]
    assert taken == count and (taken == 1 or len(batch) <= room)


def test_a_batch_of_tiny_ones_ends_where_their_numbers_are_no_longer_known() -> None:
    texts, messages = both([""] * 20_000, None)
    records = RecordBytes(NOW_MS, LARGE)
    taken = records.add(texts)
    assert 10_000 < taken < len(messages)
    assert records.add(texts[taken:]) == 0
    assert len(read_records(records.sealed(US, 0, 0))) == taken


def test_they_wait_for_the_next_batch_where_more_tiny_ones_are_than_numbers_known() -> None:
    texts, _ = both(["a"] * 10, None)
    records = RecordBytes(NOW_MS, LARGE)
    tiny = [Outgoing(b"", timestamp=NOW_MS - 1)] * 20_000
    assert records.add(tiny) == len(tiny)
    assert records.add(texts) == 0
    batch = records.sealed(US, 0, 0)
    assert len(read_records(batch)) == len(tiny)
    # Nobody of that time is in it.
    assert parse_header(batch).max_timestamp == NOW_MS - 1


@pytest.mark.parametrize(
    ("batch", "is_text"),
    [
        ([{"value": "a"}, {"value": "b"}], True),
        ([{"key": "ä", "value": "a"}, {"value": "ü", "key": "b"}], True),
        ([{"value": "a"}, {"value": "b", "key": "c"}], False),
        ([{"value": "a"}, {"value": 1}], False),
        ([{"value": "a"}, {"value": None}], False),
        ([{"value": "a", "key": None}], False),
        ([{"value": "YQ==", "encoding": "base64"}], False),
        ([{"value": "a", "partition": 3}], False),
        ([{"value": "x" * SIZE_MAX}], False),
        ([{"value": "ü" * (SIZE_MAX // 2)}], False),
        ([{"value": "a", "key": "x" * SIZE_MAX}], False),
    ],
)
def test_a_batch_is_parsed_as_its_messages_are(batch: list[dict[str, object]], is_text: bool) -> None:
    parsed = parse_messages(orjson.loads(orjson.dumps(batch)))
    assert isinstance(parsed, Texts) == is_text
    assert list(parsed) == [parse_message(fields) for fields in batch]
