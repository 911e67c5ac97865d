"""Topics as tables of a Spark session: every topic a view of its name, for SQL, the shell and notebooks.

    spark = session_with_topics()
    spark.sql("select customer, sum(amount) from orders group by customer").show()

A view has the record's columns, key and value as text, and where values are JSON objects their fields beside them, as the
first records have them. A topic whose name is no SQL name has its other characters replaced by `_`.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from headrace.pipelines.kafka import DEFAULT_BOOTSTRAP, Kafka, look_at, topic_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

VIEWS_MAX = 200
COLUMNS = (
    "key string, value string, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
    "headers array<struct<key: string, value: binary>>"
)


def sql(
    query: str,
    *,
    bootstrap: str = DEFAULT_BOOTSTRAP,
    options: Mapping[str, str] | None = None,
    spark: "SparkSession | None" = None,
    master: str = "local[*]",
) -> "DataFrame":
    """The topics that the query names become views; nothing is read before the result is asked for."""
    kafka = Kafka(bootstrap, options or {})
    words = {word.lower() for word in re.findall(r"\w+", query)}
    named = [topic for topic in topic_names(kafka) if view_of(topic).lower() in words]
    if spark is None:
        from headrace.spark import session

        spark = session(master, name="headrace sql")
    add_views(spark, kafka, named)
    return spark.sql(query)


def session_with_topics(
    bootstrap: str = DEFAULT_BOOTSTRAP, *, options: Mapping[str, str] | None = None, master: str = "local[*]"
) -> "SparkSession":
    """A session for a notebook, in which every topic is a view."""
    from headrace.spark import session

    kafka = Kafka(bootstrap, options or {})
    topics = topic_names(kafka)
    spark = session(master, name="headrace spark")
    add_views(spark, kafka, topics[:VIEWS_MAX])
    return spark


def add_views(spark: "SparkSession", kafka: Kafka, topics: Iterable[str]) -> dict[str, str]:
    """Topics by the names of their views. Of two that would have the same name, the first has it."""
    views: dict[str, str] = {}
    for topic in topics:
        view = view_of(topic)
        if view not in views:
            read_topic(spark, kafka, topic).createOrReplaceTempView(view)
            views[view] = topic
    return views


def view_of(topic: str) -> str:
    name = re.sub(r"\W", "_", topic)
    return f"_{name}" if name[0].isdigit() else name


def read_topic(spark: "SparkSession", kafka: Kafka, topic: str) -> "DataFrame":
    """With the fields of JSON values as columns of their own."""
    options = {**kafka.source_options(), "subscribe": topic, "includeHeaders": "true"}
    records = spark.read.format("headrace").options(**options).schema(COLUMNS).load()
    return with_fields(records, kafka, topic)


def with_fields(records: "DataFrame", kafka: Kafka, topic: str) -> "DataFrame":
    from pyspark.sql import functions as f
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import StructType

    from headrace.pipelines.columns import field_of
    from headrace.pipelines.records import first_values
    from headrace.pipelines.values import chosen, first_columns

    sample = first_values(kafka, look_at(kafka, topic))
    columns = from_arrow_schema(first_columns(chosen("auto", None, sample), sample))
    taken = {name.lower() for name in records.columns}
    wanted = [column for column in columns if column.name.lower() not in taken]
    if not wanted:
        return records
    fields = StructType()
    for column in wanted:
        fields.add(field_of(column.name), column.dataType)
    parsed = f.from_json(f.col("value"), fields)
    named = [parsed[field_of(column.name)].alias(column.name) for column in wanted]
    return records.select("*", *named)


def text_of(value: object) -> object:
    """The value for people and JSON: bytes as the text they are, or as hexadecimal digits."""
    if not isinstance(value, bytes | bytearray):
        return value
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        return bytes(value).hex()
