"""Topics that a pipeline writes to: made if they are not there, checked if they are."""

from collections.abc import Mapping
from functools import partial

from headrace.admin.admin import TOPIC, Admin, Resource
from headrace.admin.configs import SOURCES, describe_configs
from headrace.admin.topics import create_topic, find_topic
from headrace.base.errors import Refused, UserError
from headrace.pipelines.kafka import Kafka, ask_admin
from headrace.wire.codes import ErrorCode

OF_THE_TOPIC = SOURCES[1]


def ensure_topic(
    kafka: Kafka, topic: str, partitions: int, configs: Mapping[str, str] | None = None, at_least: int | None = None
) -> bool:
    """Makes a missing topic; returns whether it did. One that is there must have as many partitions, or `at_least`."""
    needed = partitions if at_least is None else at_least
    there = ask_admin(kafka, partial(_partitions, topic=topic))
    if there is None:
        ask_admin(kafka, partial(_make, topic=topic, partitions=partitions, configs=configs))
        return True
    if there < needed:
        raise UserError(
            f"topic {topic} has {there} partitions, and {needed} are needed to keep records where they are",
            f"headrace topic alter {topic} --partitions {needed}",
        )
    return False


async def _partitions(admin: Admin, topic: str) -> int | None:
    try:
        return len((await find_topic(admin, topic)).partitions)
    except Refused as refusal:
        if refusal.code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise
        return None


async def _make(admin: Admin, topic: str, partitions: int, configs: Mapping[str, str] | None) -> None:
    try:
        await create_topic(admin, topic, partitions, configs=configs)
    except Refused as refusal:
        raise UserError(f"topic {topic} cannot be made: {refusal.message}", "make it by hand") from None


def configs_of(kafka: Kafka, topic: str) -> dict[str, str]:
    """The settings chosen for this topic; defaults are left out."""
    described = ask_admin(kafka, partial(describe_configs, resource=Resource(TOPIC, topic)))
    return {each.name: each.value for each in described if each.source == OF_THE_TOPIC and each.value is not None}
