"""Kafka's own command line tools, each run as its shell script runs it: a class of the jars in a JVM of its own."""

import subprocess

from clients.build import java_classpath
from clients.client import WAIT_S

PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
# A short life: the cheap compiler and collector start faster.
JVM = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m"]


def run(bootstrap: str, tool: str, *options: str, stdin: str = "", expect: int = 0) -> str:
    """What the tool printed; its exit code must be `expect`."""
    done = subprocess.run(
        [*JVM, "-cp", java_classpath(), tool, "--bootstrap-server", bootstrap, *options],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=2 * WAIT_S,
        check=False,
    )
    assert done.returncode == expect, f"{tool} {options}: exit {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout + (done.stderr if expect else "")
