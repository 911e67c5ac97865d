"""A program whose workers a test kills: reads a topic as a stream in small batches and writes down what it got.

python read_program.py MASTER BOOTSTRAP TOPIC CHECKPOINT OUT
"""

import sys
from pathlib import Path

from headrace.spark import session


def main(master: str, bootstrap: str, topic: str, checkpoint: str, out: str) -> None:
    spark = session(master, name="read", conf={"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"})
    got: list[str] = []
    query = (
        spark.readStream.format("headrace")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", 600)
        .option("minPartitions", 6)
        .load()
        .writeStream.foreachBatch(lambda rows, _: got.extend(bytes(row.value).decode() for row in rows.collect()))
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    print("running", flush=True)
    query.awaitTermination()
    Path(out).write_text("\n".join(got))


if __name__ == "__main__":
    main(*sys.argv[1:])
