"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs: settings of topics and brokers, and where each comes from."""

from collections.abc import Callable, Mapping
from functools import partial

from headrace.base.errors import Refused
from headrace.broker.handlers.static_settings import static_settings
from headrace.broker.membership.metadata import Plan
from headrace.broker.membership.view import View
from headrace.broker.net.dispatch import Request
from headrace.broker.net.listeners import Listeners
from headrace.broker.partitions import Partitions
from headrace.cluster.broker_config import BrokerConfig, Effective
from headrace.cluster.config_changes import (
    Edit,
    Operation,
    alter_broker_config,
    alter_topic_config,
    replace_broker_config,
    replace_topic_config,
)
from headrace.cluster.image import Image
from headrace.cluster.store import Commit
from headrace.cluster.topic_config import effective_topic_config
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)

TOPIC = 2
BROKER = 4
Static = Callable[[], Mapping[str, Effective]]


def handle_describe_configs(
    view: View, listeners: Listeners, partitions: Partitions, request: Request
) -> DescribeConfigsResponse:
    body = request.body
    static = partial(static_settings, view, listeners, partitions)
    # Once each: a small request that repeats itself must not become a huge reply.
    wanted = {(resource.resource_type, resource.resource_name): resource for resource in body.resources}
    results = [
        _describe(view, static, resource, body.include_synonyms, body.include_documentation)
        for resource in wanted.values()
    ]
    return DescribeConfigsResponse(0, results)


def _describe(
    view: View, static: Static, resource: DescribeConfigsResource, synonyms: bool, documentation: bool
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(0, None, resource.resource_type, resource.resource_name)
    try:
        effective = _effective(view, static, resource.resource_type, resource.resource_name)
    except Refused as refusal:
        result.error_code, result.error_message = refusal.code, refusal.message
        return result
    keys = resource.configuration_keys
    wanted = effective.keys() if keys is None else set(keys)
    result.configs = [
        _describe_one(name, each, synonyms, documentation) for name, each in effective.items() if name in wanted
    ]
    return result


def _effective(view: View, static: Static, resource_type: int, name: str) -> Mapping[str, Effective]:
    if resource_type == TOPIC:
        topic = view.image.topics.get(name)
        if topic is None:
            raise Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic {name!r}")
        return effective_topic_config(topic.config, view.config)
    broker_id = _broker_id(view, resource_type, name)
    if broker_id is None:
        # Settings of all brokers: only what was set for all is there to describe.
        common = view.image.overrides_of(None)
        effective = BrokerConfig({}, {}, common).effective()
        return {key: each for key, each in effective.items() if key in common}
    if broker_id != view.id:
        raise Refused(ErrorCode.INVALID_REQUEST, f"ask broker {broker_id} itself; this is broker {view.id}")
    return {**view.config.effective(), **static()}


def _broker_id(view: View, resource_type: int, name: str) -> int | None:
    """The broker a resource names; None for all of them."""
    if resource_type != BROKER:
        raise Refused(ErrorCode.INVALID_REQUEST, f"resource type {resource_type} has no settings here")
    if name == "":
        return None
    if not name.isdigit() or int(name) not in view.image.brokers:
        raise Refused(ErrorCode.INVALID_REQUEST, f"there is no broker {name!r}; its name is its number")
    return int(name)


def _describe_one(name: str, each: Effective, synonyms: bool, documentation: bool) -> DescribeConfigsResourceResult:
    listed = []
    if synonyms:
        listed = [DescribeConfigsSynonym(found.name, found.text, found.source) for found in each.synonyms]
    return DescribeConfigsResourceResult(
        name,
        each.text,
        not each.setting.dynamic,
        each.source,
        each.setting.sensitive,
        listed,
        each.setting.kind,
        each.setting.doc if documentation else None,
    )


async def handle_alter_configs(view: View, request: Request) -> AlterConfigsResponse:
    """The old way: what is not named goes back to its default."""
    responses = []
    for resource in request.body.resources:
        wanted = {each.name: each.value for each in resource.configs if each.value is not None}
        plan = partial(_plan_replacement, view, resource.resource_type, resource.resource_name, wanted)
        responses.append(await _alter(view, resource, plan, request.body.validate_only))
    return AlterConfigsResponse(0, responses)


def _plan_replacement(
    view: View, resource_type: int, name: str, wanted: Mapping[str, str], image: Image
) -> list[Commit]:
    if resource_type == TOPIC:
        return [replace_topic_config(image, name, wanted, view.config)]
    return [replace_broker_config(image, _broker_id(view, resource_type, name), wanted)]


async def handle_incremental_alter_configs(view: View, request: Request) -> IncrementalAlterConfigsResponse:
    responses = []
    for resource in request.body.resources:
        plan = partial(_plan_edits, view, resource)
        responses.append(await _alter(view, resource, plan, request.body.validate_only))
    return IncrementalAlterConfigsResponse(0, responses)


def _plan_edits(view: View, resource: IncrementalAlterConfigsResource, image: Image) -> list[Commit]:
    try:
        edits = [Edit(each.name, Operation(each.config_operation), each.value) for each in resource.configs]
    except ValueError as error:
        raise Refused(ErrorCode.INVALID_REQUEST, f"unknown config operation: {error}") from error
    if resource.resource_type == TOPIC:
        return [alter_topic_config(image, resource.resource_name, edits, view.config)]
    broker_id = _broker_id(view, resource.resource_type, resource.resource_name)
    return [alter_broker_config(image, broker_id, edits, view.config)]


async def _alter(
    view: View,
    resource: AlterConfigsResource | IncrementalAlterConfigsResource,
    plan: Plan,
    validate_only: bool,
) -> AlterConfigsResourceResponse:
    response = AlterConfigsResourceResponse(0, None, resource.resource_type, resource.resource_name)
    try:
        await view.metadata.change(plan, validate_only)
    except Refused as refusal:
        response.error_code, response.error_message = refusal.code, refusal.message
    return response
