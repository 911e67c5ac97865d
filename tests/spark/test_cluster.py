"""A standalone cluster of two workers from the pip package: a batch and a stream through it, source and sink."""

import json
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_sink import read_all
from test_sink_exactly_once import PARTITIONS, a_copy, assert_each_once, fill

from headrace.base.errors import UserError
from headrace.spark import StandaloneCluster, session
from headrace.testing import Broker


@pytest.fixture(scope="module")
def cluster() -> Iterator[StandaloneCluster]:
    with StandaloneCluster(2) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("master", "message"), [("cluster:none", "not a number of workers"), ("locl[2]", "not a master that Spark knows")]
)
def test_a_master_that_is_none_is_named(master: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        session(master)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_stream_is_copied_by_a_cluster(
    cluster: StandaloneCluster, broker: Broker, new_topic: Callable[..., str], tmp_path: Path
) -> None:
    with urllib.request.urlopen(cluster.status_url, timeout=10) as reply:
        assert json.load(reply)["aliveworkers"] == 2
    origin, target = new_topic(PARTITIONS), new_topic(PARTITIONS)
    values = fill(broker.bootstrap, origin, 3000)
    arguments = (cluster.master, broker.bootstrap, origin, target, str(tmp_path / "checkpoint"), "1000")
    with a_copy(*arguments) as copy:
        assert copy.wait() == 0, copy.errors
    assert_each_once(broker, target, values)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_cluster_as_master_starts_one_and_takes_it_along(broker: Broker, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    program = f"""
from headrace.spark import session
spark = session("cluster:2")
rows = spark.range(1000, numPartitions=2).selectExpr("string(id) as value")
rows.write.format("headrace").mode("append").option("kafka.bootstrap.servers", "{broker.bootstrap}").option(
    "topic", "{topic}").save()
print(spark.sparkContext.master)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("spark://127.0.0.1:")
    assert sorted(int(m.value()) for m in read_all(broker.bootstrap, topic, 2)) == list(range(1000))
    port = int(ran.stdout.strip().rpartition(":")[2])
    assert not _is_listening(port), "the master has outlived its program"


def _is_listening(port: int) -> bool:
    import socket

    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
