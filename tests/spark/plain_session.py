"""A program with a session that is not ours: what format("headrace") is in it before and after `register`. Run by a test."""

import sys

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from headrace.spark import register


def main(bootstrap: str, topic: str, folder: str) -> None:
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    where = {"kafka.bootstrap.servers": bootstrap}
    options = {**where, "subscribe": topic, "startingOffsets": "earliest"}
    try:
        spark.read.format("headrace").options(**options).load()
        print("FOUND before")
    except AnalysisException:
        print("NOT FOUND before")
    register(spark)
    rows = spark.createDataFrame([(b"a",), (b"b",)], ["value"])
    rows.write.format("headrace").options(**where, topic=topic).mode("append").save()
    read = spark.read.format("headrace").options(**options).load()
    print("READ", *sorted(bytes(row.value).decode() for row in read.select("value").collect()))
    stream = spark.readStream.format("headrace").options(**options).load().select("value").writeStream
    written = stream.format("parquet").option("path", f"{folder}/out").option("checkpointLocation", f"{folder}/done")
    written.trigger(availableNow=True).start().awaitTermination()
    print("STREAMED", spark.read.parquet(f"{folder}/out").count())
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
