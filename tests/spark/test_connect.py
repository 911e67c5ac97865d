"""Spark Connect: a client without a JVM reads and writes topics through a server started from the pip package."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_sink import read_all

from eventually import until
from headrace.cli.run.ports import free_port, is_free
from headrace.spark.sessions.spark_session import prepare_environment
from headrace.testing import Broker

START_SECONDS = 180.0
HOST = "127.0.0.1"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a Connect server, for `remote()`."""
    import pyspark

    prepare_environment()
    port, log = free_port(HOST), tmp_path / "server.log"
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    conf = {
        "spark.ui.enabled": "false",
        "spark.connect.grpc.binding.address": HOST,
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    }
    options = [part for name, value in conf.items() for part in ("--conf", f"{name}={value}")]
    main_class = "org.apache.spark.sql.connect.service.SparkConnectServer"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [str(submit), "--master", "local[2]", "--class", main_class, *options],
            env={**os.environ, "SPARK_LOCAL_IP": HOST},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until_listening(process, port, log)
        yield f"sc://{HOST}:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(60)


def until_listening(process: subprocess.Popen, port: int, log: Path) -> None:
    def listens() -> bool:
        assert process.poll() is None, log.read_text()[-3000:]
        return not is_free(HOST, port)

    until(listens, seconds=START_SECONDS, otherwise=lambda: log.read_text()[-3000:])


@pytest.mark.long
@pytest.mark.timeout(600)
def test_a_client_without_jvm_reads_and_writes(server: str, broker: Broker, new_topic: Callable[..., str]) -> None:
    topic = new_topic(2)
    program = f"""
from headrace.spark import session
spark = session("{server}")
cluster = {{"kafka.bootstrap.servers": "{broker.bootstrap}"}}
rows = spark.range(1000).selectExpr("string(id) as value")
rows.write.format("headrace").mode("append").options(**cluster).option("topic", "{topic}").save()
read = spark.read.format("headrace").options(**cluster).option("subscribe", "{topic}").load()
print("sum", read.selectExpr("sum(int(string(value)))").first()[0])
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=400, check=False)
    assert ran.returncode == 0, ran.stderr
    assert re.search(r"^sum 499500$", ran.stdout, re.MULTILINE)
    assert len(read_all(broker.bootstrap, topic, 2)) == 1000
