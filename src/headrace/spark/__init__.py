"""Headrace and Spark: topics as DataFrames, through `spark.read.format("headrace")` and its three relatives.

    from headrace.spark import session
    spark = session("local[*]")

Nothing is imported until it is asked for: every Python worker of Spark's imports this package.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.spark.sessions.registration import register as register
    from headrace.spark.sessions.spark_session import session as session

_HOMES = {
    "register": "headrace.spark.sessions.registration",
    "session": "headrace.spark.sessions.spark_session",
    "HeadraceDataSource": "headrace.spark.datasource",
    "StandaloneCluster": "headrace.spark.sessions.standalone_cluster",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
