"""Spark's own Kafka connector from Maven's jars: the peer of every Spark row. One session has it and ours side by side.

The versions are those that can be had together (the connector of 4.2 runs on Spark 4.3); kept in the user's cache folder.
"""

import os
import shutil
import subprocess
from pathlib import Path

_ARTIFACTS = [
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.0"),
]


def jars() -> str:
    """For `spark.jars`."""
    folder = _folder()
    if not folder.is_dir():
        if not shutil.which("mvn"):
            raise SystemExit("the connector's jars are fetched with Maven (Debian: apt-get install maven)")
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        fresh.mkdir(parents=True)
        for group, name, version in _ARTIFACTS:
            copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={group}:{name}:{version}"]
            subprocess.run([*copy, f"-DoutputDirectory={fresh}"], cwd=fresh, check=True)
        fresh.rename(folder)
    return ",".join(map(str, sorted(folder.glob("*.jar"))))


def _folder() -> Path:
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(os.environ.get("HEADRACE_BENCH_CACHE") or f"{cache}/headrace-bench") / "spark-kafka-4.2.0"
