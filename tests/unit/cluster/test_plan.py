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


def layout(
    brokers: int, topics: dict[str, list[list[int]]], racks: int = 1, dead: frozenset[int] = frozenset()
) -> Layout:
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


@settings(max_examples=100, deadline=None)
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


@settings(max_examples=50, deadline=None)
@given(before=layouts(racks=3))
def test_a_rebalance_spreads_replicas_over_racks(before: Layout) -> None:
    after = done(before, plan_rebalance(before))
    factor = len(next(iter(after.partitions.values())))
    for replicas in after.partitions.values():
        in_rack = Counter(after.brokers[replica].rack for replica in replicas)
        assert len(in_rack) == min(factor, 3)


@settings(max_examples=50, deadline=None)
@given(before=layouts(), data=st.data())
def test_a_drain_leaves_nothing_and_moves_nothing_else(before: Layout, data: st.DataObject) -> None:
    leaver = data.draw(st.sampled_from(sorted(before.brokers)))
    if len(before.brokers) <= max(len(replicas) for replicas in before.partitions.values()):
        return
    plan = plan_drain(before, leaver)
    after = done(before, plan)
    assert all(leaver not in replicas for replicas in after.partitions.values())
    assert all(leaver in move.before and move.copies == 1 for move in plan)


def test_a_new_broker_gets_its_share_by_as_few_copies_as_that_takes() -> None:
    brokers = [broker(number) for number in range(1, 4)]
    topics = {f"t{number}": [list(each) for each in place(brokers, 8, 3, number)] for number in range(4)}
    plan = plan_rebalance(layout(4, topics))
    assert sum(move.copies for move in plan) == 4 * 8 * 3 // 4


def test_an_even_layout_on_crowded_hosts_is_spread_out() -> None:
    known = {number: Broker(number, 1, f"host-{number // 3}", 9092) for number in (1, 2, 3, 4)}
    before = Layout(known, frozenset(known), {TopicPartition("t", 0): (1, 2), TopicPartition("t", 1): (3, 4)})
    after = done(before, plan_rebalance(before))
    assert all(crowding(replicas, known)[1] == 0 for replicas in after.partitions.values())


def test_a_rebalance_leaves_partitions_of_a_dead_broker_alone() -> None:
    before = layout(3, {"t": [[1, 2], [1, 2], [1, 3]]}, dead=frozenset({2}))
    assert {(move.topic, move.partition) for move in plan_rebalance(before)} <= {("t", 2)}


def test_a_dead_broker_can_be_drained() -> None:
    before = layout(4, {"t": [[1, 2, 3], [2, 3, 1]]}, dead=frozenset({2}))
    assert [move.after for move in plan_drain(before, 2)] == [(1, 4, 3), (4, 3, 1)]


def test_draining_needs_a_broker_to_go_to() -> None:
    with pytest.raises(Refused, match="start another") as refused:
        plan_drain(layout(3, {"t": [[1, 2, 3]]}), 2)
    assert refused.value.code == ErrorCode.INVALID_REPLICATION_FACTOR


def test_a_replacement_takes_over_place_by_place() -> None:
    before = layout(4, {"t": [[1, 2], [2, 3], [2, 4]]}, dead=frozenset({2}))
    after = done(before, plan_replace(before, 2, 4))
    assert list(after.partitions.values()) == [(1, 4), (4, 3), (1, 4)]
    with pytest.raises(Refused, match="not alive"):
        plan_replace(before, 1, 2)


@pytest.mark.parametrize(("factor", "racks"), [(1, 1), (2, 2), (4, 1)])
def test_another_replication_factor(factor: int, racks: int) -> None:
    before = layout(4, {"t": [[1, 2, 3], [2, 4, 1], [3, 1, 2]], "other": [[1, 2, 3]]}, racks)
    after = done(before, plan_replication_factor(before, "t", factor))
    for partition, replicas in after.partitions.items():
        assert len(replicas) == (factor if partition.topic == "t" else 3)
        assert replicas[0] == before.partitions[partition][0]
        if partition.topic == "t" and factor == racks == 2:
            assert crowding(replicas, after.brokers) == (0, 0)


def test_a_smaller_factor_gives_up_dead_replicas_first() -> None:
    before = layout(3, {"t": [[2, 1, 3], [1, 2, 3]]}, dead=frozenset({2}))
    assert [move.after for move in plan_replication_factor(before, "t", 2)] == [(1, 3), (1, 3)]


@pytest.mark.parametrize(("topic", "factor"), [("t", 0), ("t", 4), ("none", 1)])
def test_a_factor_that_cannot_be_is_refused(topic: str, factor: int) -> None:
    with pytest.raises(Refused):
        plan_replication_factor(layout(3, {"t": [[1]]}), topic, factor)
