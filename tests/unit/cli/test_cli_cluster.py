"""What the cluster commands make of a survey: status, plans, progress and rates."""

import pytest

from headrace.admin import moves
from headrace.admin.moves import copied
from headrace.admin.status import status_of
from headrace.admin.survey import BrokerSeen, PartitionSeen, ReplicaSeen, Survey
from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.cli.cluster.progress import Track, dead_targets
from headrace.cli.cluster.status import summary
from headrace.cli.cluster.throttle import parse_rate
from headrace.cli.failure import Failure

MB = 1_000_000


def survey(*partitions: PartitionSeen, dead: tuple[int, ...] = (), brokers: int = 4) -> Survey:
    members = {n: BrokerSeen(n, f"host-{n}", 9092, None, n not in dead) for n in range(1, brokers + 1)}
    return Survey("c", 1, members, {partition.id: partition for partition in partitions})


def partition(index: int, replicas: tuple[int, ...], size: int = 10 * MB, **fields: object) -> PartitionSeen:
    plain = {"leader": replicas[0], "isr": replicas, "held": {each: ReplicaSeen(size, 0) for each in replicas}}
    return PartitionSeen(TopicPartition("t", index), replicas=replicas, **{**plain, **fields})


def test_a_healthy_cluster() -> None:
    seen = survey(partition(0, (1, 2, 3)), partition(1, (2, 3, 4)))
    status = status_of(seen)
    assert (status["offline"], status["under_replicated"], status["reassignments"]) == ([], [], [])
    assert [(each["broker"], each["leads"], each["replicas"]) for each in status["brokers"]] == [
        (1, 1, 1),
        (2, 1, 2),
        (3, 0, 2),
        (4, 0, 1),
    ]
    assert summary(seen) == "2 partitions, each with a leader and all replicas in sync"


def test_a_cluster_in_trouble() -> None:
    behind = {1: ReplicaSeen(10, 0), 2: ReplicaSeen(5, 42)}
    seen = survey(
        partition(0, (3,), leader=None),
        partition(1, (1, 2), isr=(1,), held=behind),
        partition(2, (4, 1, 2), isr=(1, 2), leader=1, adding=(4,), removing=(2,)),
        dead=(3,),
    )
    status = status_of(seen)
    assert [each["partition"] for each in status["offline"]] == [0]
    assert [(each["partition"], each["lag"]) for each in status["under_replicated"]] == [(1, {"2": 42})]
    assert [each["partition"] for each in status["reassignments"]] == [2]
    assert status["not_led_by_preferred"] == 0, "one that is moving has no preferred leader yet"
    assert summary(seen) == "3 partitions, 1 offline, 1 under-replicated, 1 moving"


def test_a_drain_counts_what_has_to_be_copied() -> None:
    seen = survey(partition(0, (1, 2, 3)), partition(1, (2, 3, 4)), partition(2, (4,), leader=None))
    plan = moves.drain(1)(seen)
    view = moves.plan_view(plan, seen)
    assert plan == {TopicPartition("t", 0): (4, 2, 3)}
    assert (view["bytes"], view["offline"]) == (10 * MB, ["t-2"])


def test_a_drain_that_is_under_way_is_not_planned_again() -> None:
    seen = survey(partition(0, (4, 2, 3, 1), isr=(2, 3, 1), leader=1, adding=(4,), removing=(1,)))
    assert moves.drain(1)(seen) == {}


def test_brokers_that_hold_nothing_are_those_that_joined() -> None:
    seen = survey(*(partition(index, (1, 2, 3)) for index in range(4)))
    plan = moves.add([])(seen)
    assert sum(4 in replicas for replicas in plan.values()) == 3
    assert all(4 in replicas for replicas in plan.values())
    with pytest.raises(Refused, match="every live broker"):
        moves.add([])(survey(partition(0, (1, 2)), brokers=2))


@pytest.mark.parametrize("planner", [moves.drain(9), moves.replace(9, 1), moves.add([9])])
def test_a_broker_that_does_not_exist(planner: moves.Planner) -> None:
    with pytest.raises(Refused, match="no broker 9"):
        planner(survey(partition(0, (1, 2))))


def test_progress_is_bytes_of_new_replicas_and_never_forgets_what_is_done() -> None:
    moving = {"isr": (1, 2), "leader": 1, "adding": (3, 4), "removing": ()}
    held = {1: ReplicaSeen(100, 0), 2: ReplicaSeen(100, 0), 3: ReplicaSeen(40, 9)}
    first = partition(0, (1, 2, 3, 4), **{**moving, "held": held})
    second = partition(1, (1, 2, 3, 4), **{**moving, "held": {**held, 4: ReplicaSeen(130, 0)}})
    assert copied(first) == (40, 200)
    track = Track(survey(first, second))
    assert (track.done_bytes, track.total_bytes, track.partitions_done) == (180, 400, 0)
    track.look(survey(first, partition(1, (1, 2, 3, 4))))
    assert (track.done_bytes, track.total_bytes, track.partitions_done) == (240, 400, 1)
    track.look(survey(partition(0, (1, 2, 3, 4)), partition(1, (1, 2, 3, 4))))
    assert (track.done_bytes, track.partitions_done, track.partitions) == (400, 2, 2)


def test_a_move_to_a_dead_broker_says_whom_it_waits_for() -> None:
    seen = survey(partition(0, (4, 1), isr=(1,), leader=1, adding=(4,)), dead=(4,))
    assert dead_targets(seen.moving, seen) == [4]


@pytest.mark.parametrize(
    ("text", "rate"),
    [(None, None), ("1048576", 1_048_576), ("50MB", 50 * MB), ("1.5 GB/s", 1500 * MB), ("10k", 10_000), ("1b", 1)],
)
def test_rates(text: str | None, rate: int | None) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize("text", ["", "0", "-5", "fast", "5 bananas", "0.1", "1e9"])
def test_what_is_no_rate(text: str) -> None:
    with pytest.raises(Failure, match="no rate"):
        parse_rate(text)
