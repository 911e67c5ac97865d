"""Which partitions an election on demand is for, and who would lead."""

import pytest

from headrace.admin.elections import plan_elections
from headrace.admin.survey import BrokerSeen, PartitionSeen, Survey
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition


def survey(*partitions: PartitionSeen, dead: tuple[int, ...] = ()) -> Survey:
    brokers = {n: BrokerSeen(n, f"host-{n}", 9092, None, n not in dead) for n in (1, 2, 3)}
    return Survey("c", 1, brokers, {each.id: each for each in partitions})


def partition(index: int, leader: int | None, replicas: tuple[int, ...], isr: tuple[int, ...]) -> PartitionSeen:
    return PartitionSeen(TopicPartition("t", index), leader, replicas, isr)


def planned(seen: Survey, unclean: bool = False) -> list[tuple[int, int]]:
    return [(each.partition.id.partition, each.then) for each in plan_elections(seen, [], unclean)]


def test_leadership_goes_back_to_the_preferred_replica_where_it_can() -> None:
    led_as_preferred = partition(0, 1, (1, 2), (1, 2))
    led_by_another = partition(1, 2, (1, 2), (1, 2))
    not_in_sync = partition(2, 2, (1, 2), (2,))
    dead = partition(3, 2, (3, 2), (3, 2))
    assert planned(survey(led_as_preferred, led_by_another, not_in_sync, dead, dead=(3,))) == [(1, 1)]


def test_an_unclean_election_is_only_for_what_nobody_leads() -> None:
    led = partition(0, 2, (1, 2), (2,))
    offline = partition(1, None, (3, 2), (3,))
    lost = partition(2, None, (3,), (3,))
    assert planned(survey(led, offline, lost, dead=(3,)), unclean=True) == [(1, 2)]


def test_a_topic_that_does_not_exist() -> None:
    with pytest.raises(Refused, match="no topic other"):
        plan_elections(survey(partition(0, 1, (1,), (1,))), ["other"], unclean=False)
