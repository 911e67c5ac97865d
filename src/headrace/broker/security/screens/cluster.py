"""Screens of what operators ask of the cluster: settings, directories, moves, elections, features, coordinators.

A refused part carries the code of its resource; where a whole request is refused, so do all its parts, since old versions
have no place for one code.
"""

from typing import Any

from headrace.broker.net.dispatch import Proceed, Request
from headrace.broker.security.rights import Rights
from headrace.broker.security.screens.parts import answer_rest, take_out
from headrace.cluster.image import Image
from headrace.security.operations import Operation
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.cluster import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from headrace.wire.messages.configs import (
    AlterConfigsResourceResponse,
    DescribeConfigsResult,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)
from headrace.wire.messages.coordinators import Coordinator, FindCoordinatorResponse
from headrace.wire.messages.features import UpdateFeaturesRequest, UpdateFeaturesResponse
from headrace.wire.messages.quorum import DescribeQuorumRequest, DescribeQuorumResponse
from headrace.wire.messages.replicas import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    PartitionResult,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
    ReplicaElectionResult,
)

MANY_KEYS_SINCE = 4
_DENIED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


# -- settings ----------------------------------------------------------------------------------------------------------


def _may_with_settings(rights: Rights, operation: Operation, kind: int, name: str) -> bool:
    match kind:
        case 2:
            return rights.topic(operation, name)
        case 32:
            return rights.group(operation, name)
    return rights.cluster(operation)


def _denied_settings(kind: int) -> ErrorCode:
    match kind:
        case 2:
            return ErrorCode.TOPIC_AUTHORIZATION_FAILED
        case 32:
            return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return _DENIED


def screen_describe_configs(image: Image, request: Request, proceed: Proceed) -> Any:
    rights = request.rights
    denied = take_out(
        request.body.resources,
        lambda each: _may_with_settings(rights, Operation.DESCRIBE_CONFIGS, each.resource_type, each.resource_name),
    )
    refused = [
        DescribeConfigsResult(code := _denied_settings(each.resource_type), code.message, *_named(each))
        for each in denied
    ]
    return answer_rest(request, proceed, refused, lambda response: response.results)


def screen_alter_configs(image: Image, request: Request, proceed: Proceed) -> Any:
    """AlterConfigs and IncrementalAlterConfigs."""
    rights = request.rights
    denied = take_out(
        request.body.resources,
        lambda each: _may_with_settings(rights, Operation.ALTER_CONFIGS, each.resource_type, each.resource_name),
    )
    refused = [
        AlterConfigsResourceResponse(code := _denied_settings(each.resource_type), code.message, *_named(each))
        for each in denied
    ]
    return answer_rest(request, proceed, refused, lambda response: response.responses)


def _named(resource: Any) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


# -- coordinators ------------------------------------------------------------------------------------------------------


def screen_find_coordinator(image: Image, request: Request, proceed: Proceed) -> Any:
    body, rights = request.body, request.rights
    code = _denied_key(body.key_type)
    if request.version < MANY_KEYS_SINCE:
        if _may_find(rights, body.key_type, body.key):
            return proceed()
        return FindCoordinatorResponse(0, code, code.message, -1, "", -1)
    denied = take_out(body.coordinator_keys, lambda key: _may_find(rights, body.key_type, key))
    refused = [Coordinator(key, -1, "", -1, code, code.message) for key in denied]
    return answer_rest(request, proceed, refused, lambda response: response.coordinators)


def _may_find(rights: Rights, key_type: int, key: str) -> bool:
    match key_type:
        case 0:
            return rights.group(Operation.DESCRIBE, key)
        case 1:
            return rights.transactional_id(Operation.DESCRIBE, key)
    return rights.cluster(Operation.CLUSTER_ACTION)


def _denied_key(key_type: int) -> ErrorCode:
    match key_type:
        case 0:
            return ErrorCode.GROUP_AUTHORIZATION_FAILED
        case 1:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    return _DENIED


# -- refusals of whole requests ----------------------------------------------------------------------------------------


def no_log_dirs(body: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=_DENIED)


def no_other_log_dirs(body: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    topics: dict[str, AlterReplicaLogDirTopicResult] = {}
    for topic in (topic for directory in body.dirs for topic in directory.topics):
        result = topics.setdefault(topic.name, AlterReplicaLogDirTopicResult(topic.name))
        result.partitions += [AlterReplicaLogDirPartitionResult(index, _DENIED) for index in topic.partitions]
    return AlterReplicaLogDirsResponse(0, list(topics.values()))


def no_unregistering(body: UnregisterBrokerRequest) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(0, _DENIED, _DENIED.message)


def no_features(body: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
    return UpdateFeaturesResponse(0, _DENIED, _DENIED.message)


def no_quorum(body: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(_DENIED, _DENIED.message)


def no_config_resources(body: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(0, _DENIED)


def no_election(body: ElectLeadersRequest) -> ElectLeadersResponse:
    results = [
        ReplicaElectionResult(
            topic.topic, [PartitionResult(index, _DENIED, _DENIED.message) for index in topic.partitions]
        )
        for topic in body.topic_partitions or ()
    ]
    return ElectLeadersResponse(error_code=_DENIED, replica_election_results=results)


def no_moves(body: AlterPartitionReassignmentsRequest) -> AlterPartitionReassignmentsResponse:
    topics = [
        ReassignableTopicResponse(
            topic.name,
            [
                ReassignablePartitionResponse(part.partition_index, _DENIED, _DENIED.message)
                for part in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    return AlterPartitionReassignmentsResponse(
        0, body.allow_replication_factor_change, _DENIED, _DENIED.message, topics
    )


def no_moves_listed(body: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(0, _DENIED, _DENIED.message)
