"""What must not join a cluster, or not be believed: refused with a cause and a fix, and no data touched."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from clients.client import Record
from headrace.base.errors import Refused
from headrace.cli.run.ports import free_port
from headrace.cli.run.serve_options import ServeOptions
from headrace.cli.up.child import ServeChild
from headrace.client.connection import ClientConnection
from headrace.testing import Cluster
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ReplicaState

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def three(lab_of):
    """One for all: whoever is refused leaves no trace, and whoever was stopped is started again."""
    with Cluster(3) as cluster:
        yield lab_of(cluster)


@pytest.fixture
def topic(three, headrace_topic: str) -> str:
    return three.create(headrace_topic, partitions=1)


def refused(options: ServeOptions) -> dict[str, str]:
    """What a broker says that does not start."""
    command = [sys.executable, "-m", "headrace.cli", "serve", "--json", *options.to_arguments()]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 1, ran.stderr
    said = json.loads(ran.stderr.splitlines()[-1])
    assert said["fix"]
    return said


def other_data(options: ServeOptions, data: Path) -> ServeOptions:
    return replace(
        options, data=str(data), store=options.store_path, port=free_port(HOST), metrics_port=free_port(HOST)
    )


def files_of(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in sorted(folder.rglob("*.log"))}


def test_a_second_broker_with_the_same_number(three, topic: str, tmp_path: Path) -> None:
    twin = other_data(three.cluster.options(1), tmp_path)
    assert "already running" in refused(twin)["error"]
    three.cluster.kill(1)
    said = refused(twin)
    assert "registered with another data directory" in said["error"] or "already running" in said["error"]
    three.cluster.start(1)
    three.until_healthy()
    three.client.produce(topic, [Record(None, b"v")])


def test_another_clusters_data_directory(three, topic: str) -> None:
    three.client.produce(topic, [Record(None, b"v" * 100)] * 100)
    three.cluster.stop(1)
    before = files_of(three.cluster.data)
    with Cluster(1) as other:
        stranger = replace(three.cluster.options(1), store=other.options(1).store_path)
        said = refused(stranger)
    assert "belongs to cluster" in said["error"]
    assert files_of(three.cluster.data) == before
    three.cluster.start(1)
    three.until_healthy()


def test_a_store_that_does_not_exist_or_does_not_answer(tmp_path: Path) -> None:
    options = ServeOptions(port=free_port(HOST), metrics_port=free_port(HOST), data=str(tmp_path))
    said = refused(replace(options, store="zookeeper://localhost:2181"))
    assert ("zookeeper" in said["error"], "etcd://" in said["fix"]) == (True, True)
    port = free_port(HOST)
    said = refused(replace(options, store=f"etcd://{HOST}:{port}/headrace"))
    assert ("etcd" in said["error"], str(port) in said["error"]) == (True, True)
    assert files_of(tmp_path) == {}


@pytest.mark.parametrize(
    ("behind", "code"),
    [(1, ErrorCode.FENCED_LEADER_EPOCH), (-1, ErrorCode.UNKNOWN_LEADER_EPOCH)],
    ids=["older than the leader's", "newer than the leader's"],
)
def test_a_fetch_with_a_wrong_leader_epoch(three, topic: str, behind: int, code: int) -> None:
    first, _, _ = leadership(three, topic)
    three.cluster.restart(first)
    three.until_healthy()
    leader, epoch, topic_id = leadership(three, topic)
    follower = next(each for each in three.cluster.ids if each != leader)
    answered = three.ask(lambda _: fetch_as(three, leader, follower, topic_id, epoch - behind, broker_epoch=1))
    assert answered == code


def test_a_follower_that_claims_more_than_there_is_moves_nothing(three, topic: str) -> None:
    """With a stale registration, an offset beyond the end, or no replica at all: nobody is acknowledged for it."""
    three.client.produce(topic, [Record(None, b"v")] * 10)
    leader, epoch, topic_id = leadership(three, topic)
    follower = next(each for each in three.cluster.ids if each != leader)
    for claimed, replica in ((1_000_000, follower), (10, 99)):
        code = three.ask(lambda _, c=claimed, r=replica: fetch_as(three, leader, r, topic_id, epoch, 1, offset=c))
        assert code in (ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.UNKNOWN_LEADER_EPOCH)
    three.client.produce(topic, [Record(None, b"w")] * 10)
    assert [record.value for record in three.client.consume(topic, count=20)] == [b"v"] * 10 + [b"w"] * 10
    three.until_healthy()


def leadership(lab, topic: str) -> tuple[int, int, bytes]:
    described = next(each for each in lab.ask(lambda admin: admin.metadata()).topics if each.name == topic)
    partition = described.partitions[0]
    return partition.leader_id, partition.leader_epoch, described.topic_id


async def fetch_as(
    lab, leader: int, follower: int, topic_id: bytes, leader_epoch: int, broker_epoch: int, offset: int = 0
) -> int:
    connection = await ClientConnection.open(HOST, lab.cluster.options(leader).port, "ghost", 5.0)
    wanted = FetchPartition(0, leader_epoch, offset, -1, 0, 1 << 20)
    request = FetchRequest(
        replica_state=ReplicaState(follower, broker_epoch),
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=1 << 20,
        session_id=0,
        session_epoch=-1,
        topics=[FetchTopic(topic_id=topic_id, partitions=[wanted])],
    )
    try:
        response = await connection.ask(request, FetchResponse, 17, 10.0)
    finally:
        connection.close()
    return response.responses[0].partitions[0].error_code


def test_a_move_to_a_broker_that_is_not_there(three, topic: str) -> None:
    refusals = three.ask(lambda admin: admin.reassign({(topic, 0): [1, 2, 9], ("nowhere", 0): [1]}))
    assert {refusal.code for refusal in refusals.values()} == {
        ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert all(isinstance(refusal, Refused) and refusal.message for refusal in refusals.values())
    none_running = three.ask(lambda admin: admin.reassign({(topic, 0): None}))
    assert [refusal.code for refusal in none_running.values()] == [ErrorCode.NO_REASSIGNMENT_IN_PROGRESS]


class LateChild(ServeChild):
    """A broker whose wall clock is an hour behind."""

    def command(self, options: ServeOptions) -> list[str]:
        return [sys.executable, "-P", "-c", _AN_HOUR_BEHIND, *options.to_arguments()]


_AN_HOUR_BEHIND = """
import sys
from headrace.base.clock import Now
from headrace.base.system_clock import SystemClock
true_now = SystemClock.now
SystemClock.now = lambda self: Now(true_now(self).mono, true_now(self).wall - 3_600_000)
from headrace.cli.run.serve import main
sys.exit(main(sys.argv[1:]))
"""


def test_clocks_an_hour_apart_are_a_warning_and_nothing_else(lab_of, capfd) -> None:
    with Cluster(2, log_level="warning", default_replication_factor=3, min_insync_replicas=3) as cluster:
        late = LateChild(replace(cluster.options(1), id=3, port=free_port(HOST), metrics_port=free_port(HOST)))
        late.start()
        try:
            late.until_ready(30)
            lab = lab_of(cluster)
            topic = lab.create("orders", partitions=3)
            for partition in range(3):
                lab.client.produce(topic, [Record(None, b"v")] * 10, partition=partition)
                assert len(lab.client.consume(topic, partition=partition, count=10)) == 10
            lab.until_healthy()
        finally:
            late.stop()
    warned = [line for line in capfd.readouterr().err.splitlines() if "the clock of broker 3" in line]
    assert len(warned) == 2, "each of the others"
    # The registration was made before it is read: a busy machine adds seconds to the hour.
    behind = [int(re.search(r"(\d+) s behind ours", line)[1]) for line in warned]
    assert all(3600 <= seconds < 3720 for seconds in behind), warned
