"""A program that tests start and kill: copies what a topic holds to another one, exactly once, in small batches.

python copy_program.py MASTER BOOTSTRAP FROM TO CHECKPOINT ROWS_PER_BATCH
"""

import sys

from headrace.spark import session


def main(master: str, bootstrap: str, origin: str, target: str, checkpoint: str, rows: str) -> None:
    spark = session(master, name="copy", conf={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"})
    cluster = {"kafka.bootstrap.servers": bootstrap}
    copied = (
        spark.readStream.format("headrace")
        .options(**cluster)
        .option("subscribe", origin)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", rows)
        .option("minPartitions", 2)  # several tasks and so transactions, however small the batch
        .load()
        .selectExpr("key", "value")
    )
    query = (
        copied.writeStream.format("headrace")
        .options(**cluster)
        .option("topic", target)
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    print("running", flush=True)
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])
