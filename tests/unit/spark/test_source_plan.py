"""The calculations under a read: ranges, shares, filters, offsets as JSON."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.datasource import EqualTo, GreaterThan, GreaterThanOrEqual, In, IsNotNull, LessThan, StringContains

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.spark.query_progress import lag_of
from headrace.spark.source.filters import narrow
from headrace.spark.source.offsets import cluster_of, offsets_from_json, offsets_to_json, parse_offsets
from headrace.spark.source.options import source_options
from headrace.spark.source.ranges import OffsetRange, split_ranges, take

ids = st.builds(TopicPartition, st.sampled_from(["a", "b"]), st.integers(0, 11))
ranges = st.builds(
    lambda id, first, size: OffsetRange(id, first, first + size), ids, st.integers(0, 99), st.integers(0, 999)
)


@given(st.lists(ranges, max_size=6), st.integers(0, 50), st.integers(0, 40))
def test_parts_are_the_whole_without_gap_or_overlap(wholes, records_max, count_min):
    parts = split_ranges(wholes, records_max, count_min)
    assert all(part.size > 0 for part in parts)
    assert not records_max or all(part.size <= records_max for part in parts)

    def offsets(each):
        return sorted((range.id, offset) for range in each for offset in range_of(range))

    assert offsets(parts) == offsets(wholes)


def range_of(each):
    return range(each.first, each.limit)


@given(st.dictionaries(ids, st.integers(0, 1000), min_size=1), st.integers(1, 2000))
def test_a_share_is_within_the_backlog_and_none_gets_nothing(backlog, offsets_max):
    starts = dict.fromkeys(backlog, 7)
    ends = {id: 7 + size for id, size in backlog.items()}
    taken = take(starts, ends, offsets_max)
    given_to = {id: taken[id] - 7 for id in backlog}
    assert all(0 <= given_to[id] <= backlog[id] for id in backlog)
    assert all(given_to[id] > 0 for id in backlog if backlog[id])
    assert sum(given_to.values()) <= max(offsets_max, 0) + len(backlog)


def test_offsets_come_in_one_order_with_their_cluster():
    offsets = {TopicPartition("b", 10): 1, TopicPartition("b", 9): 2, TopicPartition("a", 0): 3}
    told = offsets_to_json(offsets, "xyz")
    assert json.dumps(told) == '{"cluster:xyz": {}, "a": {"0": 3}, "b": {"9": 2, "10": 1}}'
    assert offsets_from_json(told) == offsets
    assert cluster_of(told) == "xyz" and cluster_of({"a": {"0": 1}}) == ""


def test_a_checkpoint_of_a_later_form_is_refused():
    with pytest.raises(UserError, match="has format format:2, this version reads 1"):
        offsets_from_json({"cluster:xyz": {}, "format:2": {}, "a": {"0": 3}})


@pytest.mark.parametrize(
    "text", ["", "x", "[]", '{"a": 1}', '{"a": {"x": 1}}', '{"a": {"0": "1"}}', '{"a": {"0": true}}']
)
def test_json_that_is_no_offsets(text):
    with pytest.raises(UserError, match=r"startingOffsets=.* is not JSON"):
        parse_offsets("startingOffsets", text)


def test_lag_from_progress():
    end = json.dumps(offsets_to_json({TopicPartition("a", 0): 5}, "c"))
    latest = json.dumps(offsets_to_json({TopicPartition("a", 0): 9, TopicPartition("a", 1): 4}, "c"))
    assert lag_of(end, latest) == {TopicPartition("a", 0): 4, TopicPartition("a", 1): 4}
    assert lag_of(None, None) == lag_of('{"start": 1}', "17") == {}


def test_filters_that_need_no_second_look_and_those_that_do():
    time = datetime(2023, 11, 14, 22, 13, 20, 500, UTC)
    exact = [
        EqualTo(("topic",), "a"),
        In(("partition",), (1, 2)),
        GreaterThan(("offset",), 4),
        LessThan(("offset",), 9),
        IsNotNull(("offset",)),
    ]
    rest = [GreaterThanOrEqual(("timestamp",), time), StringContains(("topic",), "a"), IsNotNull(("key",))]
    narrowed, left = narrow([*exact, *rest])
    assert left == rest
    assert (narrowed.offset_min, narrowed.offset_limit, narrowed.time_min) == (5, 9, 1_700_000_000_000)
    assert [narrowed.has(TopicPartition(*each)) for each in (("a", 1), ("a", 3), ("b", 1))] == [True, False, False]


def test_times_in_words():
    def delay(text):
        given = {"kafka.bootstrap.servers": "x:1", "subscribe": "t", "maxTriggerDelay": text}
        return source_options(given, is_streaming=True).max_delay_ms

    assert [delay(text) for text in ("250ms", "30s", "2 min", "15m", "1 hour", "2 hours")] == [
        250,
        30_000,
        120_000,
        900_000,
        3_600_000,
        7_200_000,
    ]
    with pytest.raises(UserError, match="is not a time"):
        delay("soon")
