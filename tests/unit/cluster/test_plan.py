from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.cluster.entities import Broker
from headrace.cluster.layout import Layout, Move, crowding
from headrace.cluster.place import place
from headrace.cluster.plan import plan_drain, plan_rebalance, plan_replace, plan_replication_factor
from headrace.wire.codes import ErrorCode


def broker(number: int, racks: int = 1) -> Broker:
    return Broker(number, 1, f"host-{number}", 9092, rack=f"rack-{number % racks}" if racks > 1 else None)


def layout(brokers: int, topics: dict[str, list[list[int]]], racks: int = 1, dead: frozenset[int] = frozenset()) -> Layout:
    known = {number: broker(number, racks) for number in range(1, brokers + 1)}
    partitions = {
        TopicPartition(topic, index): tuple(replicas)
        for topic, assigned in topics.items()
        for index, replicas in enumerate(assigned)
    }
    return Layout(known, frozenset(known) - dead, partitions)


def done(before: Layout, plan: list[Move]) -> Layout:
    partitions = dict(before.partitions)
    for topic, index, old, new in plan:
        assert partitions[TopicPartition(topic, index)] == old != new
        assert len(set(new)) == len(new)
        partitions[TopicPartition(topic, index)] = new
    return before._replace(partitions=partitions)


def spread(counts: Counter[int], brokers: frozenset[int]) -> int:
    return max(counts[each] for each in brokers) - min(counts[each] for each in brokers)


def loads(after: Layout, topic: str | None = None) -> tuple[Counter[int], Counter[int]]:
    chosen = [replicas for each, replicas in after.partitions.items() if topic in (None, each.topic)]
    return Counter(each for replicas in chosen for each in replicas), Counter(replicas[0] for replicas in chosen)


@st.composite
def layouts(draw: st.DrawFn, racks: int | None = None) -> Layout:
    racks = draw(st.integers(1, 3)) if racks is None else racks
    brokers = racks * draw(st.integers(1, 3 if racks > 1 else 6))
    factor = draw(st.integers(1, min(brokers, 4)))
    replicas = st.permutations(range(1, brokers + 1)).map(lambda order: list(order[:factor]))
    topics = draw(st.lists(st.lists(replicas, min_size=1, max_size=12), min_size=1, max_size=4))
    return layout(brokers, {f"topic-{number}": each for number, each in enumerate(topics)}, racks)


@settings(max_examples=200, deadline=None)
@given(before=layouts())
def test_a_rebalance_is_even_and_there_is_nothing_to_do_after_it(before: Layout) -> None:
    after = done(before, plan_rebalance(before))
    replicas, leaders = loads(after)
    assert spread(replicas, after.usable) <= 1
    assert spread(leaders, after.usable) <= 1
    for topic in {each.topic for each in after.partitions}:
        replicas, leaders = loads(after, topic)
        assert spread(replicas, after.usable) <= 1
        assert spread(leaders, after.usable) <= 1
    assert plan_rebalance(after) == []
