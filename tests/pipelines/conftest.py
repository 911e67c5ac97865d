"""One Spark session on two cores and one broker for all tests of this folder."""

from collections.abc import Callable, Iterator

import pytest
from pipeline_topics import create_topic
from pyspark.sql import SparkSession

from headrace.spark import session
from headrace.testing import Broker


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    # Java's quick compiler only: tests are many small jobs, and none of them is measured.
    spark = session(
        "local[2]", name="headrace-tests", conf={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
    )
    yield spark
    spark.stop()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def new_topic(broker: Broker) -> Callable[..., str]:
    return lambda partitions=1, **config: create_topic(broker.bootstrap, partitions, **config)
