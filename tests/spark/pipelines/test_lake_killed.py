"""A driver that is killed at any moment: the table has every acknowledged record, once, when the next run is through."""

import json
import random
import subprocess
import sys
import time
from contextlib import contextmanager

import duckdb
import pytest
from pipeline_topics import send

from headrace.pipelines.tables.open import FORMATS, open_table

ROWS = 1_500
RUN_SECONDS_MAX = 300


@contextmanager
def started_lake(topic, path, format, bootstrap):
    command = [sys.executable, "-m", "headrace.cli", "pipeline", "lake", topic, "--to", str(path), "--format", format]
    command += ["--bootstrap", bootstrap, "--batch-rows", "300", "--master", "local[2]", "--json"]
    run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield run
    finally:
        run.kill()
        run.communicate(timeout=60)


def wait_for_some_batches(run, chance):
    """Then comes the kill, at any moment of a batch: between its files, its commit and its report."""
    for _ in range(chance.randint(1, 2)):
        while not (line := run.stderr.readline()).startswith("{"):
            assert line, f"it ended by itself: {run.communicate(timeout=60)}"
    time.sleep(chance.random() * 0.5)


def kills_then_a_quiet_run(broker, topic, path, format, kills, seed):
    chance = random.Random(seed)
    for _ in range(kills):
        with started_lake(topic, path, format, broker.bootstrap) as run:
            wait_for_some_batches(run, chance)
    with started_lake(topic, path, format, broker.bootstrap) as last:
        report, errors = last.communicate(timeout=RUN_SECONDS_MAX)
    assert last.returncode == 0, errors
    files = [file.path for file in open_table(path).files()]
    found = duckdb.sql(f"select partition, kafka_offset, id from read_parquet({files}, union_by_name=true)").fetchall()
    assert sorted(id for _, _, id in found) == list(range(ROWS)), f"seed {seed}"
    assert len({(partition, offset) for partition, offset, _ in found}) == ROWS
    assert json.loads(report)["rows"] < ROWS, "the kills came before the first commit"


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("format", FORMATS)
def test_a_lake_that_is_killed_again_and_again_has_each_record_once(broker, new_topic, tmp_path, format):
    topic = new_topic(3)
    send(broker.bootstrap, topic, [(b"%d" % n, {"id": n}) for n in range(ROWS)])
    kills_then_a_quiet_run(broker, topic, tmp_path, format, 3, random.randrange(1 << 32))
