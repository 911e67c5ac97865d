"""A topic that a test can use at once."""

from collections.abc import Mapping

from clients.confluent import Confluent
from eventually import until


def created(reference: Confluent, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
    """This topic, made and seen: Apache Kafka answers before the new topic shows in its metadata."""
    reference.create_topic(topic, partitions, config)
    until(lambda: reference.topics().get(topic) == partitions)
    return topic
