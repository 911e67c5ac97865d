"""`headrace.spark.register(spark)`: `format("headrace")` in a session that was made without us.

Spark looks for data sources with the first `python3` on PATH, unless PYSPARK_DRIVER_PYTHON or PYSPARK_PYTHON names another.
Where that one has no Headrace it finds none. A source that is registered brings the Python that it runs with.
"""

import os
from typing import TYPE_CHECKING

from headrace.spark.sessions.spark_session import check_spark
from headrace.spark.sessions.worker_python import worker_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: "SparkSession") -> None:
    """`format("headrace")` is known to this session from here on. On this machine its planners and tasks run the Python that
    calls this, unless the environment or the session names one; elsewhere Headrace has to be installed for theirs."""
    check_spark()
    from headrace.spark.datasource import HeadraceDataSource

    if not _runs_the_first_on_path(spark):
        spark.dataSource.register(HeadraceDataSource)
        return
    context = spark.sparkContext
    before, context.pythonExec = context.pythonExec, worker_python()
    try:
        spark.dataSource.register(HeadraceDataSource)
    finally:
        context.pythonExec = before


def _runs_the_first_on_path(spark: "SparkSession") -> bool:
    """Whether workers run the first `python3` on PATH: on this machine, where no setting names their Python."""
    if not hasattr(spark, "_jsparkSession"):
        # By Spark Connect: its workers are the server's.
        return False
    context = spark.sparkContext
    return (
        (context.master or "").startswith("local")
        and "PYSPARK_PYTHON" not in os.environ
        and context.getConf().get("spark.pyspark.python") is None
    )
