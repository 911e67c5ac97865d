from collections import Counter
from collections.abc import Iterable

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.cluster.entities import Broker
from headrace.cluster.place import place


def cluster(*hosts_of_racks: list[int], first: int = 1) -> list[Broker]:
    """Each argument is a rack: the number of brokers on each of its hosts."""
    brokers: list[Broker] = []
    for rack, hosts in enumerate(hosts_of_racks):
        for host, count in enumerate(hosts):
            for _ in range(count):
                number = first + len(brokers)
                brokers.append(Broker(number, 1, f"host-{rack}-{host}", 9092, rack=f"rack-{rack}"))
    return brokers


def spread(counts: Iterable[int]) -> int:
    counts = list(counts)
    return max(counts) - min(counts)


def loads(placed: list[tuple[int, ...]], brokers: list[Broker]) -> tuple[list[int], list[int]]:
    replicas = Counter(replica for each in placed for replica in each)
    leaders = Counter(each[0] for each in placed)
    return [replicas[broker.id] for broker in brokers], [leaders[broker.id] for broker in brokers]


@settings(max_examples=100, deadline=None)
@given(
    racks=st.integers(1, 5),
    brokers_per_rack=st.integers(1, 5),
    partitions=st.integers(1, 60),
    factor=st.integers(1, 25),
    start=st.integers(0, 1000),
)
@example(racks=3, brokers_per_rack=5, partitions=16, factor=2, start=2)
def test_even_racks_are_loaded_evenly(
    racks: int, brokers_per_rack: int, partitions: int, factor: int, start: int
) -> None:
    brokers = cluster(*([[1] * brokers_per_rack] * racks))
    factor = min(factor, len(brokers))
    placed = place(brokers, partitions, factor, start)
    replicas, leaders = loads(placed, brokers)
    assert spread(replicas) <= 1
    assert spread(leaders) <= 1
    assert placed == place(list(reversed(brokers)), partitions, factor, start)


@settings(max_examples=100, deadline=None)
@given(
    racks=st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=3), min_size=1, max_size=4),
    partitions=st.integers(1, 30),
    factor=st.integers(1, 30),
    start=st.integers(0, 1000),
)
def test_replicas_are_in_as_many_racks_and_hosts_as_there_are(
    racks: list[list[int]], partitions: int, factor: int, start: int
) -> None:
    brokers = cluster(*racks)
    by_id = {broker.id: broker for broker in brokers}
    factor = min(factor, len(brokers))
    for replicas in place(brokers, partitions, factor, start):
        assert len(set(replicas)) == len(replicas) == factor
        in_rack = Counter(by_id[replica].rack for replica in replicas)
        assert len(in_rack) == min(factor, len(racks))
        for rack, hosts in enumerate(racks):
            here = [by_id[replica].host for replica in replicas if by_id[replica].rack == f"rack-{rack}"]
            assert len(set(here)) == min(len(here), len(hosts))


def test_a_dead_brokers_leaders_are_inherited_by_all_the_others() -> None:
    brokers = cluster([6])
    placed = place(brokers, 60, 2)
    heirs = Counter(replicas[1] for replicas in placed if replicas[0] == 1)
    assert len(heirs) >= 4


def test_topics_of_one_partition_take_turns() -> None:
    brokers = cluster([1, 1, 1])
    assert sorted(place(brokers, 1, 1, start)[0] for start in range(6)) == [(1,), (1,), (2,), (2,), (3,), (3,)]


def test_brokers_without_a_rack_are_one_rack() -> None:
    brokers = [Broker(number, 1, "127.0.0.1", 9092) for number in (5, 7, 9)]
    replicas, leaders = loads(place(brokers, 30, 3), brokers)
    assert replicas == [30, 30, 30]
    assert leaders == [10, 10, 10]
