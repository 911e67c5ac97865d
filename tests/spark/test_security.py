"""Reads and writes through TLS and SASL, and with a wrong password, against Apache Kafka: our brokers have neither yet."""

import pytest
from pyspark.sql import SparkSession
from test_source import failure

from integration.test_client_security import SecureKafka, kafka, sasl

__all__ = ["kafka"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]


def options(kafka: SecureKafka, **named: str) -> dict[str, str]:
    security = {**sasl("SASL_SSL", "SCRAM-SHA-256", **named), "ssl.ca.location": str(kafka.certificate)}
    servers = {"kafka.bootstrap.servers": kafka.address("SASLTLS")}
    return servers | {f"kafka.{name}": value for name, value in security.items()}


def test_rows_go_there_and_back(spark: SparkSession, kafka: SecureKafka) -> None:
    rows = spark.range(100, numPartitions=2).selectExpr("string(id) as value")
    rows.write.format("headrace").mode("append").options(**options(kafka)).option("topic", "there").save()
    back = spark.read.format("headrace").options(**options(kafka)).option("subscribe", "there").load()
    assert sorted(int(row.value) for row in back.collect()) == list(range(100))


def test_a_wrong_password_is_named(spark: SparkSession, kafka: SecureKafka) -> None:
    wrong = options(kafka, password="mistyped-1")
    read = spark.read.format("headrace").options(**wrong).option("subscribe", "there").load()
    rows = spark.range(1).selectExpr("string(id) as value")
    write = rows.write.format("headrace").mode("append").options(**wrong).option("topic", "there")
    for act in (read.collect, write.save):
        message = failure(act)
        assert "look at kafka.sasl.username and kafka.sasl.password" in message
        assert "mistyped-1" not in message
