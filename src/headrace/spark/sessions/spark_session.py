"""`headrace.spark.session()`: a SparkSession that works from `pip install` alone, with `format("headrace")` in it.

Sets what costs people a day when it is not set: a Java that fits, the workers' Python, the loopback interface, a number
of shuffle partitions that suits the cores, the faster checkpoint files, filter push-down. What the caller or the
environment has chosen stays. One JVM per process: options that are for its start hold for the first session only.
"""

import os
import re
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.base.errors import UserError
from headrace.spark.sessions.class_archive import archive_path, jvm_options, keep_at_exit
from headrace.spark.sessions.java import java_home
from headrace.spark.sessions.quiet_log import log_options
from headrace.spark.sessions.worker_python import worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_VERSIONS = ("4.3",)
LOOPBACK = "127.0.0.1"
_CHECKPOINT_FILES = "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"


def session(
    master: str = "local[*]", *, name: str = "headrace", conf: Mapping[str, object] | None = None
) -> "SparkSession":
    """The session of this process, made if there is none.

    `master` is `local[*]`, `local[2]`, `cluster:2` (a standalone cluster of this machine that ends with this process),
    `spark://host:port` of a running one, or `sc://host:port` of a Spark Connect server. `conf` has Spark's own names and
    the last word.
    """
    check_spark()
    chosen = {key: _text(value) for key, value in (conf or {}).items()}
    if master.startswith("sc://"):
        return _connected(master, {**_sql_conf(None), **chosen})
    if master.startswith("cluster:"):
        from headrace.spark.sessions.standalone_cluster import cluster_of_this_process

        cluster = cluster_of_this_process(_count(master))
        return _started(cluster.master, name, {**_sql_conf(cluster.workers), **_loopback(), **chosen})
    if master.startswith("local"):
        cores = _local_cores(master)
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        return _started(master, name, {**_sql_conf(cores), "spark.driver.memory": "2g", **chosen})
    if not master.startswith(("spark://", "k8s://", "yarn")):
        raise _no_master(master)
    nearby = _loopback() if _is_here(master) else {}
    return _started(master, name, {**_sql_conf(None), **nearby, **chosen})


def _is_here(master: str) -> bool:
    return master.startswith(("local", "spark://127.", "spark://localhost:"))


def check_spark() -> None:
    """Raises UserError when PySpark is missing or of another version than we are made for."""
    fix = "pip install 'headrace[spark]'"
    missing = [name for name in ("pyspark", "pyarrow") if find_spec(name) is None]
    if missing:
        raise UserError(f"{missing[0]} is not installed", fix)
    import pyspark

    if pyspark.__version__.rpartition(".")[0] not in SPARK_VERSIONS:
        supported = " or ".join(SPARK_VERSIONS)
        raise UserError(f"PySpark {pyspark.__version__} is not supported; Headrace works with {supported}", fix)


def prepare_environment(*, is_far: bool = False) -> Path:
    """Sets the environment that Spark's JVM inherits: Java, and the Python of its workers. Returns the Java home."""
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable if is_far else worker_python())
    # Planners of data sources run this one, on the driver's machine.
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", worker_python())
    return home


def _started(master: str, name: str, conf: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    if SparkSession.getActiveSession() is None:
        return _first(master, name, conf)
    return _builder(master, name, conf).getOrCreate()


def _first(master: str, name: str, conf: Mapping[str, str]) -> "SparkSession":
    import pyspark

    archive = archive_path(prepare_environment(is_far=not _is_here(master)), pyspark.__version__)
    asked = os.environ.get("SPARK_SUBMIT_OPTS", "")
    os.environ["SPARK_SUBMIT_OPTS"] = f"{jvm_options(archive)} {log_options()} {asked}".strip()
    try:
        spark = _builder(master, name, conf).getOrCreate()
    finally:
        os.environ["SPARK_SUBMIT_OPTS"] = asked
    gateway = spark.sparkContext._gateway
    if gateway is not None and gateway.proc is not None:
        keep_at_exit(archive, gateway.proc)
    return spark


def _builder(master: str, name: str, conf: Mapping[str, str]) -> "SparkSession.Builder":
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName(name)
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder


def _connected(url: str, conf: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.remote(url).getOrCreate()
    for key, value in conf.items():
        spark.conf.set(key, value)
    return spark


def _sql_conf(cores: int | None) -> dict[str, str]:
    conf = {
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
    }
    if cores is None:
        # Somebody else's cluster: its size and its file system are not ours to guess.
        return conf
    return {
        **conf,
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_FILES,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def _loopback() -> dict[str, str]:
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    return {"spark.driver.host": LOOPBACK}


def _local_cores(master: str) -> int:
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        raise _no_master(master)
    if found[1] == "*":
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(found[1] or 1)


def _no_master(master: str) -> UserError:
    return UserError(f"master {master}: not a master that Spark knows", "for example local[*], local[2], cluster:2")


def _count(master: str) -> int:
    number = master.removeprefix("cluster:")
    if not number.isdecimal() or not int(number):
        raise UserError(f"master {master}: not a number of workers", "for example cluster:2")
    return int(number)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
