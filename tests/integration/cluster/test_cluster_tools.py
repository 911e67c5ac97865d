"""Kafka's own tools against the cluster: kafka-reassign-partitions, kafka-leader-election, kafka-log-dirs."""

import json
from pathlib import Path

import pytest

from clients import console
from clients.build import MissingTool, java_classpath
from clients.client import Record

REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"


@pytest.fixture
def tool(four):
    try:
        java_classpath()
    except MissingTool as missing:
        pytest.skip(str(missing))
    return lambda name, *options: console.run(four.cluster.bootstrap, name, *options)


def test_reassign_elect_and_describe(four, tool, tmp_path: Path) -> None:
    topic = four.create("orders", partitions=2)
    for partition in range(2):
        four.client.produce(topic, [Record(None, b"v" * 1000) for _ in range(100)], partition=partition)
    targets = {0: [4, 1, 2], 1: [3, 4, 1]}
    plan = tmp_path / "plan.json"
    partitions = [{"topic": topic, "partition": part, "replicas": to} for part, to in targets.items()]
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))

    tool(REASSIGN, "--reassignment-json-file", str(plan), "--execute", "--throttle", "100000000")
    four.until_healthy()
    verified = tool(REASSIGN, "--reassignment-json-file", str(plan), "--verify")
    assert verified.count("is completed") == 2
    assert "Clearing topic-level throttles" in verified
    assert "No partition reassignments" in tool(REASSIGN, "--list")
    seen = four.survey()
    assert {each.id.partition: list(each.replicas) for each in seen.partitions.values()} == targets

    tool(ELECT, "--election-type", "preferred", "--all-topic-partitions")
    # Another broker than the one that was told may hear of it a moment later.
    four.until(lambda seen: {each.id.partition: each.leader for each in seen.partitions.values()} == {0: 4, 1: 3})

    # A follower of the new leaders learns from its next fetch how far it is behind.
    four.until(lambda seen: all(held.lag == 0 for each in seen.partitions.values() for held in each.held.values()))
    described = tool(LOG_DIRS, "--describe", "--topic-list", topic)
    brokers = json.loads(described.splitlines()[-1])["brokers"]
    held = {
        (broker["broker"], part["partition"]): (part["size"] > 100_000, part["offsetLag"])
        for broker in brokers
        for directory in broker["logDirs"]
        for part in directory["partitions"]
    }
    assert held == {(broker, f"{topic}-{part}"): (True, 0) for part, to in targets.items() for broker in to}
