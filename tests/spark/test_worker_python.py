"""What Spark's Python workers run, and what they leave to the garbage collector."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from headrace.spark.frozen_modules import freeze_loaded
from headrace.spark.sessions.worker_python import worker_python

SECONDS_MAX = 60


def test_only_the_zips_of_spark_leave_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path))
    home = "/opt/spark with space"
    zips = [
        f"{home}/python/lib/pyspark.zip",
        f"{home}/python/lib/py4j-0.10.9.9-src.zip",
        f"{home}/jars/spark-core_2.13.jar",
    ]
    path = ":".join([*zips, "/mine/lib", *zips, "/other one/pyspark.zip"])
    ask = "import os, sys; print(os.environ['PYTHONPATH'], sys.argv[1:], sep='\\n')"
    told = subprocess.run(
        [worker_python({}), "-c", ask, "a b", "c"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS_MAX,
    )
    assert told.stdout.splitlines() == ["/mine/lib:/other one/pyspark.zip", "['a b', 'c']"]


def test_a_spark_that_is_not_the_pip_package_keeps_its_own() -> None:
    assert worker_python({"SPARK_HOME": "/opt/spark"}) == sys.executable


def test_a_worker_of_the_session_has_the_pyspark_that_is_installed(spark: SparkSession) -> None:
    def where(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        for _ in batches:
            yield pa.record_batch([[pyspark.__file__]], names=["path"])

    found = spark.range(1, numPartitions=1).mapInArrow(where, "path string").collect()
    assert [row.path for row in found] == [sys.modules["pyspark"].__file__]


def test_what_the_first_task_loaded_is_out_of_the_collectors_sight_in_the_second() -> None:
    frozen = gc.get_freeze_count()
    try:
        freeze_loaded("a test")
        assert gc.get_freeze_count() == frozen
        kept = [[]]
        freeze_loaded("a test")
        assert gc.get_freeze_count() > frozen
        assert not any(each is kept for each in gc.get_objects())
    finally:
        gc.unfreeze()
