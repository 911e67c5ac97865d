"""A partition of 2 GB is read by a worker whose memory a few fetches bound."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from headrace.base.ids import TopicPartition
from headrace.client.writer_client import WriterClient
from headrace.testing import Broker
from headrace.wire.records import Record, build_batch

BATCHES, RECORDS, SIZE = 2100, 1000, 1000
AT_A_TIME = 4
# Python with pyarrow, numba and pandas takes 200 MB of it.
WORKER_MB_MAX = 400
SECONDS_MAX = 120.0


@pytest.mark.long
@pytest.mark.timeout(500)
def test_memory_does_not_grow_with_the_partition(
    spark: SparkSession, broker: Broker, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(flush_messages=str(2**63 - 1))
    asyncio.run(fill(broker.bootstrap, TopicPartition(topic, 0)))
    frame = spark.read.format("headrace").option("kafka.bootstrap.servers", broker.bootstrap)
    read = frame.option("subscribe", topic).load().selectExpr("count(*) as rows", "sum(length(value)) as bytes")
    assert read.first().asDict() == {"rows": BATCHES * RECORDS, "bytes": BATCHES * RECORDS * SIZE}
    peaks = [peak_mb(each.pid) for each in workers()]
    assert peaks and max(peaks) < WORKER_MB_MAX, peaks


async def fill(bootstrap: str, id: TopicPartition) -> None:
    batch = memoryview(build_batch([Record(value=bytes(SIZE))] * RECORDS))
    client = WriterClient(bootstrap, client_id="fill")
    try:
        for _ in range(BATCHES // AT_A_TIME):
            await asyncio.gather(
                *[
                    client.produce(id, batch, acks=1, transactional_id=None, seconds_max=SECONDS_MAX)
                    for _ in range(AT_A_TIME)
                ]
            )
    finally:
        await client.close()


def workers() -> list[psutil.Process]:
    """Those of this session that run tasks."""
    family = psutil.Process().children(recursive=True)
    return [each for each in family if each.cmdline()[-2:] == ["pyspark.daemon", "pyspark.worker"]]


def peak_mb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM:"))) // 1024
