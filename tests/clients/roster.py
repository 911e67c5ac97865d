"""The six clients by name."""

import shutil
from collections.abc import Callable

from clients import aio, confluent, kafka_python, kcat, line_driver
from clients.build import MissingTool
from clients.client import Client

MAKERS: dict[str, Callable[[str], Client]] = {
    "kcat": kcat.Kcat,
    "confluent-kafka": confluent.Confluent,
    "kafka-python": kafka_python.KafkaPython,
    "aiokafka": aio.Aiokafka,
    "java": line_driver.java,
    "franz-go": line_driver.go,
}
CLIENTS = tuple(MAKERS)
ADMINS = tuple(name for name in CLIENTS if name != "kcat")
WITH_TOPIC_IDS = tuple(name for name in ADMINS if name != "aiokafka")


def make(name: str, bootstrap: str) -> Client:
    """This client, or MissingTool."""
    if name == "kcat" and shutil.which("kcat") is None:
        raise MissingTool("kcat is missing. Fix: apt-get install kcat, or `make test` as root on Debian")
    return MAKERS[name](bootstrap)
