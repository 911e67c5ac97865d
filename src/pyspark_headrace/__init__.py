"""Found by Spark by its name: `format("headrace")` works wherever Headrace is installed, without registration."""

from headrace.spark.datasource import HeadraceDataSource as DefaultSource

__all__ = ["DefaultSource"]
