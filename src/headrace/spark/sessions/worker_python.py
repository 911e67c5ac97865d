"""The Python that Spark's workers run: this one, and PySpark from where it is installed.

Spark puts its own zip of PySpark's sources in front of every worker's path, and Python compiles what it takes out of a zip
anew in every process: a second of CPU for each worker, for each planner, and for each start of a stream. A small script in
the cache directory takes these zips off the path and becomes this Python.
"""

import hashlib
import os
import sys
from collections.abc import Mapping

from headrace.spark.sessions.cache import cache_directory

_SCRIPT = """#!/bin/sh
rest=$PYTHONPATH:
kept=
while [ -n "$rest" ]; do
  part=${rest%%:*}; rest=${rest#*:}
  case $part in
    ""|*/python/lib/pyspark.zip|*/python/lib/py4j-*-src.zip|*/jars/spark-core_*.jar) ;;
    *) kept=$kept:$part ;;
  esac
done
PYTHONPATH=${kept#:} exec "@PYTHON@" "$@"
"""


def worker_python(environ: Mapping[str, str] = os.environ) -> str:
    """A Python for PYSPARK_PYTHON, on this machine. A Spark that is not the pip package may have PySpark nowhere but in
    its zip.
    """
    if "SPARK_HOME" in environ or os.name != "posix":
        return sys.executable
    text = _SCRIPT.replace("@PYTHON@", sys.executable)
    script = cache_directory() / f"python-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if not script.exists():
        # By a rename: another process may start it at this moment.
        partial = script.with_name(f"{script.name}.{os.getpid()}")
        partial.write_text(text)
        partial.chmod(0o755)
        partial.replace(script)
    return str(script)
