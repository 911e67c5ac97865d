"""Kafka's own kafka-consumer-groups and console consumer, from its jars."""

import re

import pytest

from clients import console
from headrace.admin.lag import get_lag


def committed(bootstrap: str, group: str) -> dict[int, int]:
    return {lag.id.partition: lag.committed for lag in get_lag(bootstrap, group)}


def test_consumer_groups(bootstrap: str, group, fill, topic: str) -> None:
    def tool(*options: str) -> str:
        return console.run(bootstrap, console.GROUPS, *options)

    expected = fill(4)
    # The console consumer joins the group, reads all there is, commits and leaves.
    where = ["--topic", topic, "--group", group.name, "--from-beginning"]
    read = console.run(bootstrap, console.CONSUMER, *where, "--max-messages", str(len(expected)))
    assert len(read.split()) == len(expected)
    assert committed(bootstrap, group.name) == dict.fromkeys(group.partitions, 4)

    assert group.name in tool("--list").split()
    fill(1)
    rows = rf"^{group.name}\s+{topic}\s+\d\s+4\s+5\s+1\s+-"
    described = tool("--describe", "--group", group.name)
    assert len(re.findall(rows, described, re.MULTILINE)) == len(group.partitions)

    which = ["--group", group.name, "--topic", topic]
    tool("--reset-offsets", *which, "--shift-by", "-3", "--execute")
    assert committed(bootstrap, group.name) == dict.fromkeys(group.partitions, 1)

    tool("--delete-offsets", "--group", group.name, "--topic", f"{topic}:2")
    assert sorted(committed(bootstrap, group.name)) == [0, 1, 3, 4, 5]

    tool("--delete", "--group", group.name)
    assert committed(bootstrap, group.name) == {}
    assert group.name not in tool("--list").split()


@pytest.mark.long
def test_a_group_with_members(bootstrap: str, group) -> None:
    group.add("confluent-kafka")
    group.settle()
    members = console.run(bootstrap, console.GROUPS, "--describe", "--group", group.name, "--members", "--verbose")
    assert re.search(rf"^{group.name}\s+rdkafka-\S+\s+/127\.0\.0\.1\s+rdkafka\s+6\s", members, re.MULTILINE)
    # It says so, and still ends with exit code 0.
    assert "The group is not empty" in console.run(bootstrap, console.GROUPS, "--delete", "--group", group.name)
