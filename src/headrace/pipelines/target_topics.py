"""Topics that a pipeline writes to: made if they are not there, checked if they are."""

from collections.abc import Mapping

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, ConfigResource, ConfigSource, NewTopic, ResourceType

from headrace.base.errors import UserError
from headrace.pipelines.kafka import Kafka, topic_names

ADMIN_SECONDS = 30


def ensure_topic(
    kafka: Kafka, topic: str, partitions: int, configs: Mapping[str, str] | None = None, at_least: int | None = None
) -> bool:
    """Whether it was made. One that is there must have as many partitions, or `at_least`."""
    needed = partitions if at_least is None else at_least
    admin = AdminClient(kafka.client_config())
    if topic in topic_names(kafka):
        there = len(admin.list_topics(topic, timeout=ADMIN_SECONDS).topics[topic].partitions)
        if there < needed:
            raise UserError(
                f"topic {topic} has {there} partitions, and {needed} are needed to keep records where they are",
                f"headrace topic alter {topic} --partitions {needed}",
            )
        return False
    wanted = NewTopic(topic, num_partitions=partitions, config=dict(configs or {}))
    try:
        admin.create_topics([wanted], request_timeout=ADMIN_SECONDS)[topic].result(ADMIN_SECONDS)
    except KafkaException as error:
        raise UserError(f"topic {topic} cannot be made: {error.args[0].str()}", "make it by hand") from None
    return True


def configs_of(kafka: Kafka, topic: str) -> dict[str, str]:
    """The settings chosen for this topic; defaults are left out."""
    admin = AdminClient(kafka.client_config())
    resource = ConfigResource(ResourceType.TOPIC, topic)
    described = admin.describe_configs([resource], request_timeout=ADMIN_SECONDS)[resource].result(ADMIN_SECONDS)
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    return {name: entry.value for name, entry in described.items() if entry.source == own and entry.value is not None}
