"""Transactions whose end was acknowledged while their markers are still to be written: a reader would stop before them."""

from eventually import SECONDS
from headrace.pipelines.kafka import Kafka, look_at_all


def until_ended(bootstrap: str, topic: str) -> None:
    """Every transaction that is in this topic now has ended for its readers too."""
    look_at_all(Kafka(bootstrap), topic, SECONDS)
