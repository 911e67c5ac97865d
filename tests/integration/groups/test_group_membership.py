"""Groups form, grow, shrink and lose members, with every library; each partition has exactly one owner throughout."""

import pytest

from clients.members.member import LIBRARIES


def longer(*values: str) -> object:
    return pytest.param(*values, marks=pytest.mark.long)


ASSIGNED_BY = [
    longer("confluent-kafka", "range"),
    longer("confluent-kafka", "roundrobin"),
    ("confluent-kafka", "cooperative-sticky"),
    ("kafka-python", "roundrobin"),
    longer("kafka-python", "cooperative-sticky"),
    ("aiokafka", "sticky"),
    longer("java", "cooperative-sticky"),
    longer("java", "sticky"),
    ("franz-go", "cooperative-sticky"),
    longer("franz-go", "roundrobin"),
]


@pytest.mark.parametrize(("library", "assignor"), ASSIGNED_BY)
def test_form_grow_and_shrink(group, fill, library: str, assignor: str) -> None:
    expected = fill(5)
    first = group.add(library, assignor=assignor)
    assert group.settle() == [group.partitions]
    group.add(library, assignor=assignor)
    group.add(library, assignor=assignor)
    assert sorted(map(len, group.settle())) == [2, 2, 2]
    group.leave(first)
    assert sorted(map(len, group.settle())) == [3, 3]
    group.read_until(expected)


def test_a_group_of_all_libraries(group, fill) -> None:
    for library in LIBRARIES:
        group.add(library)
    group.settle()
    expected = fill(3)
    group.read_until(expected)
    while len(group.members) > 1:
        group.leave(group.members[0])
        group.settle()


@pytest.mark.parametrize("library", ["confluent-kafka", longer("kafka-python"), "aiokafka", longer("java"), "franz-go"])
def test_a_member_that_dies_is_replaced_and_another_takes_its_place(group, fill, library: str) -> None:
    group.add(library, session_ms=1000)
    doomed = group.add(library, session_ms=1000)
    group.settle()
    group.kill(doomed)
    assert group.settle() == [group.partitions]
    group.read_until(fill(2))


@pytest.mark.parametrize("library", ["confluent-kafka", "kafka-python", longer("aiokafka"), longer("java"), "franz-go"])
def test_a_static_member_restarts_without_a_rebalance(group, library: str) -> None:
    observer = group.add("franz-go")
    group.add(library, instance_id="the-same", session_ms=20_000)
    before = group.settle()
    generation = observer.poll().generation
    group.kill(group.members[1])
    group.add(library, instance_id="the-same", session_ms=20_000)
    assert group.settle() == before
    assert observer.poll().generation == generation


@pytest.mark.long
def test_members_beyond_the_partitions_wait(group) -> None:
    for _ in range(7):
        group.add("confluent-kafka")
    assert sorted(map(len, group.settle())) == [0, 1, 1, 1, 1, 1, 1]
    busy = next(member for member in group.members if member.assigned)
    group.leave(busy)
    assert sorted(map(len, group.settle())) == [1] * 6
