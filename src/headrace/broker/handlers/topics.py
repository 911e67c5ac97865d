"""CreateTopics, DeleteTopics, CreatePartitions: plans over the image, each topic with a commit of its own."""

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from headrace.base.errors import Refused
from headrace.base.ids import ZERO_ID
from headrace.broker.net.dispatch import Request
from headrace.cluster.changes import NewTopic, create_partitions, delete_topic
from headrace.cluster.entities import Topic
from headrace.cluster.topic_config import effective_topic_config
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsResponse,
    DeleteTopicState,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker


# Topics that one request makes at the same time: what they bring to this broker is opened together.
AT_ONCE = 50
# Clients give up a request after 30 seconds, whatever time they allow for it. A partition without a leader by then
# is told to have none until it does.
USABLE_SECONDS_MAX = 20.0


async def handle_create_topics(broker: "Broker", request: Request) -> CreateTopicsResponse:
    body, topics = request.body, request.body.topics
    repeated = _repeated([topic.name for topic in topics])
    # The first of two names that clash wins, so it has to be there when the second is looked at.
    at_once = 1 if _repeated([topic.name.replace(".", "_") for topic in topics]) else AT_ONCE
    results: list[CreatableTopicResult] = []
    for first in range(0, len(topics), at_once):
        together = topics[first : first + at_once]
        creations = [_create(broker, topic, body.validate_only, repeated, turn) for turn, topic in enumerate(together)]
        results += await asyncio.gather(*creations)
    if not body.validate_only:
        await _until_usable(broker, request, [each.name for each in results if not each.error_code])
    return CreateTopicsResponse(0, results)


async def _until_usable(broker: "Broker", request: Request, names: list[str | None]) -> None:
    """Waits until the topics are usable, for the rest of the time that the request allows."""
    allowed = min(request.body.timeout_ms / 1000, USABLE_SECONDS_MAX)
    elapsed = broker.clock.mono() - request.now.mono
    await broker.new_leaders.until_usable(filter(None, names), allowed - elapsed)


async def _create(
    broker: "Broker", wanted: CreatableTopic, validate_only: bool, repeated: set[str], turn: int
) -> CreatableTopicResult:
    new = NewTopic(
        wanted.name,
        wanted.num_partitions,
        wanted.replication_factor,
        {each.name: each.value for each in wanted.configs if each.value is not None},
        {each.partition_index: each.broker_ids for each in wanted.assignments} or None,
    )
    try:
        _check_once(wanted.name, repeated)
        topic = await broker.create_topic(new, validate_only, turn)
    except Refused as refusal:
        return CreatableTopicResult(wanted.name, ZERO_ID, refusal.code, refusal.message)
    return _created(broker, topic, validate_only)


def _created(broker: "Broker", topic: Topic, validate_only: bool) -> CreatableTopicResult:
    configs = [
        CreatableTopicConfigs(name, each.text, not each.setting.dynamic, each.source, each.setting.sensitive)
        for name, each in effective_topic_config(topic.config, broker.view.config).items()
    ]
    return CreatableTopicResult(
        topic.name,
        ZERO_ID if validate_only else topic.id,
        num_partitions=len(topic.partitions),
        replication_factor=topic.replication_factor,
        configs=configs,
    )


async def handle_delete_topics(broker: "Broker", request: Request) -> DeleteTopicsResponse:
    body = request.body
    wanted = body.topics or [DeleteTopicState(name) for name in body.topic_names]
    return DeleteTopicsResponse(0, [await _delete(broker, each) for each in wanted])


async def _delete(broker: "Broker", wanted: DeleteTopicState) -> DeletableTopicResult:
    name = wanted.name
    try:
        if name is None:
            name = broker.image.topic_names.get(wanted.topic_id)
        if name is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_ID, "no topic has this id")
        if not broker.view.config.flag("delete.topic.enable"):
            raise Refused(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false on this cluster")
        topic = broker.image.topics.get(name)
        target = name
        await broker.metadata.change(lambda image: delete_topic(image, target))
    except Refused as refusal:
        return DeletableTopicResult(wanted.name, wanted.topic_id, refusal.code, refusal.message)
    return DeletableTopicResult(name, topic.id if topic is not None else ZERO_ID)


async def handle_create_partitions(broker: "Broker", request: Request) -> CreatePartitionsResponse:
    body = request.body
    repeated = _repeated([topic.name for topic in body.topics])
    results = [await _add_partitions(broker, topic, body.validate_only, repeated) for topic in body.topics]
    if not body.validate_only:
        await _until_usable(broker, request, [each.name for each in results if not each.error_code])
    return CreatePartitionsResponse(0, results)


async def _add_partitions(
    broker: "Broker", wanted: CreatePartitionsTopic, validate_only: bool, repeated: set[str]
) -> CreatePartitionsTopicResult:
    assignment = None
    if wanted.assignments is not None:
        assignment = [tuple(each.broker_ids) for each in wanted.assignments]
    try:
        _check_once(wanted.name, repeated)
        await broker.change_placement(
            wanted.name,
            lambda image: create_partitions(image, broker.view.live, wanted.name, wanted.count, assignment),
            validate_only,
        )
    except Refused as refusal:
        return CreatePartitionsTopicResult(wanted.name, refusal.code, refusal.message)
    return CreatePartitionsTopicResult(wanted.name)


def _repeated(names: list[str]) -> set[str]:
    return {name for name, count in Counter(names).items() if count > 1}


def _check_once(name: str, repeated: set[str]) -> None:
    if name in repeated:
        raise Refused(ErrorCode.INVALID_REQUEST, f"the request names topic {name!r} more than once")
