"""The lake on a standalone Spark cluster of two workers."""

import json
import subprocess
import sys

import duckdb
import pytest
from pipeline_topics import send

from headrace.pipelines.tables.open import open_table


@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_cluster_of_two_workers_writes_the_lake(broker, new_topic, tmp_path):
    topic = new_topic(4)
    send(broker.bootstrap, topic, [(b"%d" % n, {"id": n}) for n in range(2_000)])
    command = [sys.executable, "-m", "headrace.cli", "pipeline", "lake", topic, "--to", str(tmp_path), "--json"]
    command += ["--bootstrap", broker.bootstrap, "--master", "cluster:2", "--batch-rows", "1000"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=800)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["rows"] == 2_000
    files = [file.path for file in open_table(tmp_path).files()]
    found = duckdb.sql(f"select id from read_parquet({files}, union_by_name=true)").fetchall()
    assert sorted(id for (id,) in found) == list(range(2_000))
