"""Spark's own connector at work, for its test: prints what it read as one line of JSON.

python official_program.py JARS BOOTSTRAP TOPIC OTHER_TOPIC CHECKPOINT
"""

import json
import sys

from pyspark.sql import DataFrame

from headrace.spark import session


def main(jars: str, bootstrap: str, one: str, two: str, checkpoint: str) -> None:
    spark = session(
        "local[2]",
        name="official",
        conf={"spark.jars": jars, "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"},
    )
    cluster = {"kafka.bootstrap.servers": bootstrap}

    def read(kind: str, topic: str) -> DataFrame:
        return spark.read.format(kind).options(**cluster).option("subscribe", topic).load()

    rows = spark.range(2000, numPartitions=2).selectExpr("concat('k', id % 10) as key", "concat('v', id) as value")
    rows.write.format("kafka").options(**cluster).option("topic", one).save()
    stream = (
        spark.readStream.format("kafka")
        .options(**cluster)
        .option("subscribe", one)
        .option("startingOffsets", "earliest")
        .option("kafka.isolation.level", "read_committed")
        .load()
        .writeStream.format("kafka")
        .options(**cluster)
        .option("topic", two)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    assert stream.awaitTermination(200), "the stream has not ended"
    rows.write.format("headrace").mode("append").options(**cluster).option("topic", two).save()
    homes = read("kafka", one).union(read("kafka", two)).selectExpr("string(key) as key", "partition").distinct()
    print(
        json.dumps(
            {
                "batch": pairs(read("kafka", one)),
                "streamed": pairs(read("kafka", two).dropDuplicates(["key", "value"])),
                "ours": pairs(read("headrace", one)),
                "homes": [list(row) for row in homes.collect()],
            }
        )
    )


def pairs(frame: DataFrame) -> list[list[str]]:
    return [list(row) for row in frame.selectExpr("string(key)", "string(value)").collect()]


if __name__ == "__main__":
    main(*sys.argv[1:])
