"""Groups of the next generation (KIP-848) with every library that has them: they form, grow, shrink, lose members, restart
static ones, and change from the classic protocol and back without a pause.
"""

import asyncio
import re
import uuid
from typing import Any

import pytest
from confluent_kafka import Consumer

from clients import console
from clients.client import WAIT_S
from clients.confluent import Confluent
from clients.members.member import NEXT_LIBRARIES, Committed
from headrace.admin.admin import Admin
from headrace.admin.coordinators import coordinator_of
from headrace.wire.messages.groups_consumer import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)


def longer(*values: str) -> object:
    return pytest.param(*values, marks=pytest.mark.long)


def described(bootstrap: str, group: str) -> DescribedGroup:
    async def ask() -> Any:
        host, _, port = bootstrap.rpartition(":")
        admin = Admin([(host, int(port))], "test")
        try:
            coordinator = await coordinator_of(admin, group)
            return await admin.ask_broker(
                coordinator, ConsumerGroupDescribeRequest([group]), ConsumerGroupDescribeResponse
            )
        finally:
            admin.close()

    (found,) = asyncio.run(ask()).groups
    return found


NEXT = {"protocol": "consumer", "assignor": "uniform"}
ASSIGNED_BY = [
    ("confluent-kafka", "uniform"),
    longer("confluent-kafka", "range"),
    longer("java", "uniform"),
    longer("java", "range"),
    ("franz-go", "uniform"),
]


@pytest.mark.parametrize(("library", "assignor"), ASSIGNED_BY)
def test_form_grow_and_shrink(bootstrap: str, group, fill, library: str, assignor: str) -> None:
    settings = {"protocol": "consumer", "assignor": assignor}
    expected = fill(5)
    first = group.add(library, **settings)
    assert group.settle() == [group.partitions]
    group.add(library, **settings)
    group.add(library, **settings)
    assert sorted(map(len, group.settle())) == [2, 2, 2]
    view = described(bootstrap, group.name)
    assert (view.error_code, view.group_state, view.assignor_name) == (0, "Stable", assignor)
    group.leave(first)
    assert sorted(map(len, group.settle())) == [3, 3]
    group.read_until(expected)


def test_a_group_of_all_libraries(group, fill) -> None:
    for library in NEXT_LIBRARIES:
        group.add(library, **NEXT)
    group.settle()
    group.read_until(fill(3))
    # Whoever dies is missed after its session.
    group.kill(group.members[0])
    assert sorted(map(len, group.settle())) == [3, 3]
    group.read_until(fill(2))


@pytest.mark.parametrize("library", ["confluent-kafka", longer("java"), "franz-go"])
def test_commit_and_resume(group, fill, library: str) -> None:
    first_half = fill(10)
    member = group.add(library, **NEXT)
    group.read_until(first_half)
    assert member.commit("here") == dict.fromkeys(group.partitions, 10)
    assert member.committed(3) == Committed(10, "here")
    group.leave(member)
    second_half = fill(5)
    successor = group.add(library, **NEXT)
    group.read_until(second_half)
    assert set(successor.reads) == second_half


def test_a_static_member_restarts_without_a_rebalance(bootstrap: str, group) -> None:
    group.add("franz-go", **NEXT)
    # Not Java, which may take longer to start on a busy machine than this broker's sessions last.
    static = group.add("confluent-kafka", instance_id="the-same", **NEXT)
    before = group.settle()
    epoch = described(bootstrap, group.name).group_epoch
    group.leave(static)
    group.add("confluent-kafka", instance_id="the-same", **NEXT)
    assert group.settle() == before
    assert described(bootstrap, group.name).group_epoch == epoch


def test_from_classic_to_the_next_generation_and_back(bootstrap: str, group, fill) -> None:
    """One by one, as a rolling restart does it; readers of both protocols, eager and cooperative, share the group."""
    for library, assignor in (("confluent-kafka", "cooperative-sticky"), ("franz-go", "cooperative-sticky")):
        group.add(library, assignor=assignor)
    group.settle()
    group.read_until(fill(2))
    for library in ("franz-go", "confluent-kafka"):
        group.add(library, **NEXT)
        group.settle()
        group.read_until(fill(1))
        group.leave(group.members[0])
        group.settle()
    view = described(bootstrap, group.name)
    assert {member.member_type for member in view.members} == {1}
    for library in ("confluent-kafka", "aiokafka"):
        group.add(library, assignor="range")
        group.settle()
        group.read_until(fill(1))
        group.leave(group.members[0])
        group.settle()
    assert described(bootstrap, group.name).error_code == 69
    group.read_until(fill(1))


def test_a_subscription_by_expression(bootstrap: str, reference: Confluent) -> None:
    prefix = f"x-{uuid.uuid4().hex[:8]}"
    reference.create_topic(f"{prefix}-1", 2)
    settings = {"bootstrap.servers": bootstrap, "group.id": prefix, "group.protocol": "consumer", "log_level": 0}
    consumer = Consumer(settings)
    try:
        consumer.subscribe([f"^{prefix}-[0-9]$"])

        def until_assigned(*expected: tuple[str, int]) -> None:
            for _ in range(int(WAIT_S / 0.1)):
                consumer.poll(0.1)
                if {(each.topic, each.partition) for each in consumer.assignment()} == set(expected):
                    return
            raise AssertionError(consumer.assignment())

        until_assigned((f"{prefix}-1", 0), (f"{prefix}-1", 1))
        reference.create_topic(f"{prefix}-2", 1)
        reference.create_topic(f"{prefix}-no", 1)
        until_assigned((f"{prefix}-1", 0), (f"{prefix}-1", 1), (f"{prefix}-2", 0))
    finally:
        consumer.close()


def test_kafkas_own_tool(bootstrap: str, group, fill, topic: str) -> None:
    def tool(*options: str) -> str:
        return console.run(bootstrap, console.GROUPS, *options)

    expected = fill(4)
    member = group.add("confluent-kafka", **NEXT)
    group.read_until(expected)
    member.commit()
    rows = rf"^{group.name}\s+{topic}\s+\d\s+4\s+4\s+0\s+\S"
    assert len(re.findall(rows, tool("--describe", "--group", group.name), re.MULTILINE)) == len(group.partitions)
    state = tool("--describe", "--group", group.name, "--state", "--verbose")
    assert re.search(rf"{group.name}\s.*uniform\s+Stable", state)
    group.leave(member)
    tool("--reset-offsets", "--group", group.name, "--topic", topic, "--shift-by", "-3", "--execute")
    successor = group.add("confluent-kafka", **NEXT)
    group.settle()
    assert successor.committed(0) == Committed(1, "")
    group.leave(successor)
    listed = tool("--list", "--type", "consumer")
    assert group.name in listed.split()
    tool("--delete", "--group", group.name)
    assert described(bootstrap, group.name).error_code == 69
