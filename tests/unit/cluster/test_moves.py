"""Plans that move replicas: what they promise, over small clusters made by hand and larger ones made by chance."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.base.errors import UserError
from headrace.base.ids import TopicPartition
from headrace.cluster.entities import Broker
from headrace.cluster.moves import drain, rebalance, replace
from headrace.cluster.place import place


def brokers(count: int, racks: int = 0) -> list[Broker]:
    return [Broker(n, 1, f"host-{n}", 9092, f"rack-{n % racks}" if racks else None) for n in range(1, count + 1)]


def assigned(*replicas: tuple[int, ...]) -> dict[TopicPartition, tuple[int, ...]]:
    return {TopicPartition("t", index): each for index, each in enumerate(replicas)}


def spread(members: list[Broker], partitions: int, factor: int) -> dict[TopicPartition, tuple[int, ...]]:
    return assigned(*place(members, partitions, factor))


def after(assignment, plan):
    return {**assignment, **plan}


def load_of(assignment) -> Counter[int]:
    return Counter(replica for replicas in assignment.values() for replica in replicas)


def leads_of(assignment) -> Counter[int]:
    return Counter(replicas[0] for replicas in assignment.values())


def copies(assignment, plan) -> int:
    """Replicas that have to be copied."""
    return sum(len(set(replicas).difference(assignment[id])) for id, replicas in plan.items())


def test_a_drained_broker_holds_nothing_and_nothing_else_moves() -> None:
    assignment = assigned((1, 2, 3), (2, 3, 4), (3, 4, 1))
    plan = drain(assignment, brokers(4), [1])
    assert plan == {TopicPartition("t", 0): (4, 2, 3), TopicPartition("t", 2): (3, 4, 2)}


def test_draining_needs_a_broker_that_has_no_replica_yet() -> None:
    with pytest.raises(UserError, match="no other broker is left"):
        drain(assigned((1, 2, 3)), brokers(3), [1])


def test_a_dead_broker_can_be_drained() -> None:
    alive = [broker for broker in brokers(4) if broker.id != 1]
    assert drain(assigned((1, 2, 3)), alive, [1]) == {TopicPartition("t", 0): (4, 2, 3)}


def test_a_drain_keeps_replicas_in_different_racks() -> None:
    members = brokers(6, racks=3)
    rack = {broker.id: broker.rack for broker in members}
    assignment = spread(members, 30, 3)
    for replicas in after(assignment, drain(assignment, members, [1])).values():
        assert len({rack[replica] for replica in replicas}) == 3


def test_a_replaced_broker_gives_everything_to_its_successor() -> None:
    assignment = assigned((1, 2), (2, 3), (3, 1))
    assert replace(assignment, brokers(4), 1, 4) == {TopicPartition("t", 0): (4, 2), TopicPartition("t", 2): (3, 4)}


def test_where_the_successor_has_a_replica_another_broker_takes_it() -> None:
    assert replace(assigned((1, 2)), brokers(3), 1, 2) == {TopicPartition("t", 0): (3, 2)}


def test_a_successor_must_be_alive() -> None:
    with pytest.raises(UserError, match="broker 9 is not alive"):
        replace(assigned((1, 2)), brokers(3), 1, 9)


def test_what_is_even_is_left_alone() -> None:
    for count, partitions, factor in ((3, 9, 3), (4, 10, 3), (5, 7, 2)):
        members = brokers(count)
        assert rebalance(spread(members, partitions, factor), members) == {}


def test_a_new_broker_gets_its_share_with_no_other_move() -> None:
    assignment = spread(brokers(3), 12, 3)
    plan = rebalance(assignment, brokers(4), onto=[4])
    assert load_of(after(assignment, plan)) == {1: 9, 2: 9, 3: 9, 4: 9}
    assert copies(assignment, plan) == 9
    assert leads_of(after(assignment, plan)) == {1: 3, 2: 3, 3: 3, 4: 3}


def test_replicas_on_a_dead_broker_stay_where_they_are() -> None:
    alive = [broker for broker in brokers(4) if broker.id != 1]
    assignment = spread(brokers(3), 12, 3)
    plan = rebalance(assignment, alive)
    assert load_of(after(assignment, plan))[1] == 12


def test_replicas_that_share_a_rack_are_parted() -> None:
    members = brokers(4, racks=2)
    plan = rebalance(assigned((1, 3)), members)
    (replicas,) = plan.values()
    assert replicas[1] % 2 != replicas[0] % 2


@settings(deadline=None, max_examples=50)
@given(
    st.integers(2, 8),
    st.integers(1, 40),
    st.data(),
)
def test_any_assignment_becomes_even(count: int, partitions: int, data: st.DataObject) -> None:
    ids = list(range(1, count + 1))
    factor = data.draw(st.integers(1, min(3, count)))
    assignment = assigned(*(tuple(data.draw(st.permutations(ids))[:factor]) for _ in range(partitions)))
    result = after(assignment, rebalance(assignment, brokers(count)))
    assert all(len(set(replicas)) == factor for replicas in result.values())
    load = [load_of(result)[each] for each in ids]
    leads = [leads_of(result)[each] for each in ids]
    assert max(load) - min(load) <= 1
    assert max(leads) - min(leads) <= 1
