"""Screens of what makes, deletes and widens topics."""

from typing import Any

from headrace.base.ids import ZERO_ID
from headrace.broker.net.dispatch import Proceed, Request
from headrace.broker.security.rights import Rights
from headrace.broker.security.screens.parts import answer_rest, take_out
from headrace.cluster.image import Image
from headrace.security.operations import Operation
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.topics import (
    CreatableTopicResult,
    CreatePartitionsTopicResult,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicState,
)

_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def may_create(rights: Rights, name: str) -> bool:
    return rights.cluster(Operation.CREATE) or rights.topic(Operation.CREATE, name)


def screen_create_topics(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(request.body.topics, lambda topic: may_create(rights, topic.name))
    refused = [CreatableTopicResult(topic.name, ZERO_ID, _DENIED, _DENIED.message) for topic in denied]

    def amend(response: CreateTopicsResponse) -> None:
        for result in response.topics:
            if not result.error_code and not rights.topic(Operation.DESCRIBE_CONFIGS, result.name):
                _hide_configs(result)
        response.topics += refused

    request.amend(amend)
    return proceed()


def _hide_configs(result: CreatableTopicResult) -> None:
    result.topic_config_error_code = _DENIED
    result.num_partitions = result.replication_factor = -1
    result.configs = []


def screen_delete_topics(image: Image, request: Request, proceed: Proceed) -> Any:
    """A topic's id, and that there is none of a name, are hidden from those who may not know of it."""
    body, rights = request.body, request.rights
    if rights.cluster(Operation.DELETE):
        return proceed()
    denied = take_out(body.topics, lambda topic: _may_delete(image, rights, topic))
    denied_names = take_out(body.topic_names, lambda name: rights.topic(Operation.DELETE, name))
    refused = [_undeleted(image, rights, topic) for topic in denied]
    refused += [_undeleted(image, rights, DeleteTopicState(name)) for name in denied_names]
    return answer_rest(request, proceed, refused, lambda response: response.responses)


def _may_delete(image: Image, rights: Rights, topic: DeleteTopicState) -> bool:
    name = image.topic_names.get(topic.topic_id) if topic.name is None else topic.name
    return name is None or rights.topic(Operation.DELETE, name)


def _undeleted(image: Image, rights: Rights, topic: DeleteTopicState) -> DeletableTopicResult:
    name, topic_id = topic.name, topic.topic_id
    if name is None:
        known = image.topic_names[topic_id]
        name = known if rights.topic(Operation.DESCRIBE, known) else None
    elif name in image.topics and rights.topic(Operation.DESCRIBE, name):
        topic_id = image.topics[name].id
    return DeletableTopicResult(name, topic_id, _DENIED, _DENIED.message)


def screen_create_partitions(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(request.body.topics, lambda topic: rights.topic(Operation.ALTER, topic.name))
    refused = [CreatePartitionsTopicResult(topic.name, _DENIED, _DENIED.message) for topic in denied]
    return answer_rest(request, proceed, refused, lambda response: response.results)
