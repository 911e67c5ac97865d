"""One Spark session on two cores and one broker for all tests of this folder, pipelines among them.

The session compiles with Java's quick compiler only: tests are many small jobs, and none of them is measured.
"""

import uuid
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from headrace.spark import session
from headrace.testing import Broker

ADMIN_SECONDS = 60


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
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
    """Makes a topic of a name that no other test uses. Settings have underscores for dots."""

    def create(partitions: int = 1, **config: str) -> str:
        name = f"spark-{uuid.uuid4().hex[:12]}"
        settings = {key.replace("_", "."): value for key, value in config.items()}
        admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        wanted = NewTopic(name, num_partitions=partitions, replication_factor=1, config=settings)
        admin.create_topics([wanted], request_timeout=ADMIN_SECONDS)[name].result(ADMIN_SECONDS)
        return name

    return create
