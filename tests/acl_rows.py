"""The table of what each API needs, row by row, with a request for it in each version.

A row says what its principal needs, in the order in which it is asked, and what is answered when that is missing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from headrace.security.operations import THE_CLUSTER, Operation, ResourceType
from headrace.wire.apis import APIS
from headrace.wire.codes import ErrorCode
from headrace.wire.messages import (
    acls,
    cluster,
    configs,
    coordinators,
    features,
    fetch,
    group_offsets,
    groups_admin,
    groups_classic,
    groups_consumer,
    metadata,
    offsets,
    produce,
    producers,
    quorum,
    quotas,
    replicas,
    scram,
    topics,
    transactions,
)
from headrace.wire.records import Record, build_batch
from headrace.wire.schema import Request, Struct

TOPIC, GROUP, TXN = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID
CLUSTER = ResourceType.CLUSTER
DENIALS = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
NO_TOPIC = ErrorCode.TOPIC_AUTHORIZATION_FAILED
NO_GROUP = ErrorCode.GROUP_AUTHORIZATION_FAILED
NO_CLUSTER = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
NO_TXN = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
THE_GROUP, THE_TXN = "readers", "writer"
Op = Operation


class Topic(NamedTuple):
    name: str
    id: bytes


class Need(NamedTuple):
    kind: ResourceType
    operation: Operation
    code: ErrorCode

    def name(self, topic: Topic) -> str:
        return {TOPIC: topic.name, GROUP: THE_GROUP, TXN: THE_TXN, CLUSTER: THE_CLUSTER}[self.kind]


class Row(NamedTuple):
    name: str
    make: Callable[[int, Topic], Request]
    needs: list[Need]
    versions: range
    instead: list[Need]
    """Any of these alone is enough, too."""
    by_id: range
    """Versions that name topics by their ids, which are no secret."""
    is_harmless: bool
    """Whether it may be asked of a topic that others need."""


ROWS: list[Row] = []
NEVER = range(0)


def row(
    request: Any,
    make: Callable[[int, Topic], Request],
    *needs: Need,
    since: int = 0,
    until: int = 999,
    instead: tuple[Need, ...] = (),
    by_id_since: int = 999,
    is_harmless: bool = True,
    case: str = "",
) -> None:
    api = APIS[request.API_KEY]
    versions = range(max(since, api.min_version), min(until, api.max_version) + 1)
    name = f"{api.name}-{case}" if case else api.name
    ROWS.append(Row(name, make, list(needs), versions, list(instead), range(by_id_since, 1000), is_harmless))


def topic_needs(operation: Operation) -> Need:
    return Need(TOPIC, operation, NO_TOPIC)


def group_needs(operation: Operation) -> Need:
    return Need(GROUP, operation, NO_GROUP)


def cluster_needs(operation: Operation, code: ErrorCode = NO_CLUSTER) -> Need:
    return Need(CLUSTER, operation, code)


def txn_needs(operation: Operation) -> Need:
    return Need(TXN, operation, NO_TXN)


# -- records -----------------------------------------------------------------------------------------------------------

PLAIN = build_batch([Record(value=b"v")])
TRANSACTIONAL = build_batch([Record(value=b"v")], producer_id=7, producer_epoch=0, transactional=True)


def produced(topic: Topic, batch: bytes, transactional_id: str | None) -> Request:
    part = produce.PartitionProduceData(0, memoryview(batch))
    return produce.ProduceRequest(transactional_id, 1, 1000, [produce.TopicProduceData(topic.name, topic.id, [part])])


row(
    produce.ProduceRequest,
    lambda version, topic: produced(topic, PLAIN, None),
    topic_needs(Op.WRITE),
    by_id_since=13,
)
row(
    produce.ProduceRequest,
    lambda version, topic: produced(topic, TRANSACTIONAL, THE_TXN),
    txn_needs(Op.WRITE),
    topic_needs(Op.WRITE),
    by_id_since=13,
    case="transactional",
)


def fetched(topic: Topic, replica: int) -> Request:
    wanted = fetch.FetchTopic(topic.name, topic.id, [fetch.FetchPartition(0, partition_max_bytes=1 << 20)])
    state = None if replica < 0 else fetch.ReplicaState(replica, 1)
    return fetch.FetchRequest(replica_id=replica, replica_state=state, max_wait_ms=0, topics=[wanted])


row(fetch.FetchRequest, lambda version, topic: fetched(topic, -1), topic_needs(Op.READ), by_id_since=13)
row(
    fetch.FetchRequest,
    lambda version, topic: fetched(topic, 2),
    cluster_needs(Op.CLUSTER_ACTION, NO_TOPIC),
    by_id_since=13,
    case="follower",
)
row(
    offsets.ListOffsetsRequest,
    lambda version, topic: offsets.ListOffsetsRequest(
        -1, topics=[offsets.ListOffsetsTopic(topic.name, [offsets.ListOffsetsPartition(0, timestamp=-1)])]
    ),
    topic_needs(Op.DESCRIBE),
)
row(
    offsets.OffsetForLeaderEpochRequest,
    lambda version, topic: offsets.OffsetForLeaderEpochRequest(
        -1, [offsets.OffsetForLeaderTopic(topic.name, [offsets.OffsetForLeaderPartition(0, -1, 0)])]
    ),
    topic_needs(Op.DESCRIBE),
    instead=(cluster_needs(Op.CLUSTER_ACTION),),
)
row(
    offsets.DeleteRecordsRequest,
    lambda version, topic: offsets.DeleteRecordsRequest(
        [offsets.DeleteRecordsTopic(topic.name, [offsets.DeleteRecordsPartition(0, 0)])], 1000
    ),
    topic_needs(Op.DELETE),
)
row(
    producers.DescribeProducersRequest,
    lambda version, topic: producers.DescribeProducersRequest([producers.TopicRequest(topic.name, [0])]),
    topic_needs(Op.READ),
)

# -- topics ------------------------------------------------------------------------------------------------------------

row(
    metadata.MetadataRequest,
    lambda version, topic: metadata.MetadataRequest([metadata.MetadataRequestTopic(name=topic.name)], False),
    topic_needs(Op.DESCRIBE),
    since=4,
)
row(
    metadata.MetadataRequest,
    lambda version, topic: metadata.MetadataRequest([metadata.MetadataRequestTopic(name=topic.name)]),
    topic_needs(Op.DESCRIBE),
    until=3,
    case="that-makes-topics",
)
row(
    metadata.MetadataRequest,
    lambda version, topic: metadata.MetadataRequest([metadata.MetadataRequestTopic(topic.id, None)], False),
    topic_needs(Op.DESCRIBE),
    # Before version 12 no topic could be asked for without its name.
    since=12,
    by_id_since=10,
    case="by-id",
)
row(
    metadata.DescribeTopicPartitionsRequest,
    lambda version, topic: metadata.DescribeTopicPartitionsRequest([metadata.TopicRequest(topic.name)]),
    topic_needs(Op.DESCRIBE),
)
row(
    topics.CreateTopicsRequest,
    lambda version, topic: topics.CreateTopicsRequest([topics.CreatableTopic(topic.name, 1, 1)], 1000, True),
    topic_needs(Op.CREATE),
    instead=(cluster_needs(Op.CREATE),),
)
row(
    topics.DeleteTopicsRequest,
    lambda version, topic: topics.DeleteTopicsRequest([topics.DeleteTopicState(topic.name)], [topic.name], 1000),
    topic_needs(Op.DELETE),
    is_harmless=False,
)
row(
    topics.DeleteTopicsRequest,
    lambda version, topic: topics.DeleteTopicsRequest([topics.DeleteTopicState(None, topic.id)], [], 1000),
    topic_needs(Op.DELETE),
    since=6,
    by_id_since=6,
    is_harmless=False,
    case="by-id",
)
row(
    topics.CreatePartitionsRequest,
    lambda version, topic: topics.CreatePartitionsRequest([topics.CreatePartitionsTopic(topic.name, 2)], 1000, True),
    topic_needs(Op.ALTER),
)

# -- groups ------------------------------------------------------------------------------------------------------------

row(
    group_offsets.OffsetCommitRequest,
    lambda version, topic: group_offsets.OffsetCommitRequest(
        THE_GROUP,
        topics=[
            group_offsets.OffsetCommitRequestTopic(
                topic.name, topic.id, [group_offsets.OffsetCommitRequestPartition(0, 1)]
            )
        ],
    ),
    group_needs(Op.READ),
    topic_needs(Op.READ),
    by_id_since=10,
)


def offsets_asked(version: int, topic: Topic) -> Request:
    group = group_offsets.OffsetFetchRequestGroup(
        THE_GROUP, topics=[group_offsets.OffsetFetchRequestTopics(topic.name, topic.id, [0])]
    )
    named = [group_offsets.OffsetFetchRequestTopic(topic.name, [0])]
    return group_offsets.OffsetFetchRequest(THE_GROUP, named, [group])


row(
    group_offsets.OffsetFetchRequest,
    offsets_asked,
    group_needs(Op.DESCRIBE),
    topic_needs(Op.DESCRIBE),
    by_id_since=10,
)
row(
    group_offsets.OffsetDeleteRequest,
    lambda version, topic: group_offsets.OffsetDeleteRequest(
        THE_GROUP,
        [group_offsets.OffsetDeleteRequestTopic(topic.name, [group_offsets.OffsetDeleteRequestPartition(7)])],
    ),
    group_needs(Op.DELETE),
    topic_needs(Op.READ),
)
row(
    coordinators.FindCoordinatorRequest,
    lambda version, topic: coordinators.FindCoordinatorRequest(THE_GROUP, 0, [THE_GROUP]),
    group_needs(Op.DESCRIBE),
)
row(
    coordinators.FindCoordinatorRequest,
    lambda version, topic: coordinators.FindCoordinatorRequest(THE_TXN, 1, [THE_TXN]),
    txn_needs(Op.DESCRIBE),
    since=1,
    case="transaction",
)
row(
    coordinators.FindCoordinatorRequest,
    lambda version, topic: coordinators.FindCoordinatorRequest("", 2, ["g:id:0"]),
    cluster_needs(Op.CLUSTER_ACTION),
    since=6,
    case="share",
)
row(
    groups_classic.JoinGroupRequest,
    # A session that no broker allows, so that nobody joins.
    lambda version, topic: groups_classic.JoinGroupRequest(THE_GROUP, 1, 1, "", None, "consumer"),
    group_needs(Op.READ),
)
row(
    groups_classic.HeartbeatRequest,
    lambda version, topic: groups_classic.HeartbeatRequest(THE_GROUP, 1, "member"),
    group_needs(Op.READ),
)
row(
    groups_classic.LeaveGroupRequest,
    lambda version, topic: groups_classic.LeaveGroupRequest(
        THE_GROUP, "member", [groups_classic.MemberIdentity("member")]
    ),
    group_needs(Op.READ),
)
row(
    groups_classic.SyncGroupRequest,
    lambda version, topic: groups_classic.SyncGroupRequest(THE_GROUP, 1, "member"),
    group_needs(Op.READ),
)
row(
    groups_admin.DescribeGroupsRequest,
    lambda version, topic: groups_admin.DescribeGroupsRequest([THE_GROUP]),
    group_needs(Op.DESCRIBE),
)
row(
    groups_admin.DeleteGroupsRequest,
    lambda version, topic: groups_admin.DeleteGroupsRequest([THE_GROUP]),
    group_needs(Op.DELETE),
    is_harmless=False,
)
row(
    groups_consumer.ConsumerGroupHeartbeatRequest,
    lambda version, topic: groups_consumer.ConsumerGroupHeartbeatRequest(
        THE_GROUP, "member", -1, subscribed_topic_names=[topic.name]
    ),
    group_needs(Op.READ),
    topic_needs(Op.DESCRIBE),
)
row(
    groups_consumer.ConsumerGroupDescribeRequest,
    lambda version, topic: groups_consumer.ConsumerGroupDescribeRequest([THE_GROUP]),
    group_needs(Op.DESCRIBE),
)

# -- transactions ------------------------------------------------------------------------------------------------------

row(
    transactions.InitProducerIdRequest,
    lambda version, topic: transactions.InitProducerIdRequest(THE_TXN, 60_000),
    txn_needs(Op.WRITE),
)
row(
    transactions.InitProducerIdRequest,
    lambda version, topic: transactions.InitProducerIdRequest(None, 60_000),
    cluster_needs(Op.IDEMPOTENT_WRITE),
    instead=(topic_needs(Op.WRITE),),
    case="idempotent",
)


def partitions_added(version: int, topic: Topic) -> Request:
    added = [transactions.AddPartitionsToTxnTopic(topic.name, [0])]
    one = transactions.AddPartitionsToTxnTransaction(THE_TXN, 7, 0, False, added)
    return transactions.AddPartitionsToTxnRequest([one], THE_TXN, 7, 0, added)


row(transactions.AddPartitionsToTxnRequest, partitions_added, txn_needs(Op.WRITE), topic_needs(Op.WRITE), until=3)
row(
    transactions.AddPartitionsToTxnRequest,
    partitions_added,
    cluster_needs(Op.CLUSTER_ACTION),
    since=4,
    case="among-brokers",
)
row(
    transactions.AddOffsetsToTxnRequest,
    lambda version, topic: transactions.AddOffsetsToTxnRequest(THE_TXN, 7, 0, THE_GROUP),
    txn_needs(Op.WRITE),
    group_needs(Op.READ),
)
row(
    transactions.EndTxnRequest,
    lambda version, topic: transactions.EndTxnRequest(THE_TXN, 7, 0, True),
    txn_needs(Op.WRITE),
)
row(
    transactions.TxnOffsetCommitRequest,
    lambda version, topic: transactions.TxnOffsetCommitRequest(
        THE_TXN,
        THE_GROUP,
        7,
        0,
        topics=[
            transactions.TxnOffsetCommitRequestTopic(topic.name, [transactions.TxnOffsetCommitRequestPartition(0, 1)])
        ],
    ),
    txn_needs(Op.WRITE),
    group_needs(Op.READ),
    topic_needs(Op.READ),
)
row(
    transactions.WriteTxnMarkersRequest,
    lambda version, topic: transactions.WriteTxnMarkersRequest(
        [transactions.WritableTxnMarker(7, 0, False, [transactions.WritableTxnMarkerTopic(topic.name, [0])], 1)]
    ),
    cluster_needs(Op.CLUSTER_ACTION),
    instead=(cluster_needs(Op.ALTER),),
    is_harmless=False,
)
row(
    producers.DescribeTransactionsRequest,
    lambda version, topic: producers.DescribeTransactionsRequest([THE_TXN]),
    txn_needs(Op.DESCRIBE),
)

# -- settings ----------------------------------------------------------------------------------------------------------


def settings_rows(kind: int, case: str, name: Callable[[Topic], str], need: Callable[[Operation], Need]) -> None:
    row(
        configs.DescribeConfigsRequest,
        lambda version, topic: configs.DescribeConfigsRequest([configs.DescribeConfigsResource(kind, name(topic))]),
        need(Op.DESCRIBE_CONFIGS),
        case=case,
    )
    row(
        configs.AlterConfigsRequest,
        lambda version, topic: configs.AlterConfigsRequest([configs.AlterConfigsResource(kind, name(topic))], True),
        need(Op.ALTER_CONFIGS),
        case=case,
    )
    row(
        configs.IncrementalAlterConfigsRequest,
        lambda version, topic: configs.IncrementalAlterConfigsRequest(
            [configs.IncrementalAlterConfigsResource(kind, name(topic))], True
        ),
        need(Op.ALTER_CONFIGS),
        case=case,
    )


settings_rows(2, "topic", lambda topic: topic.name, topic_needs)
settings_rows(4, "broker", lambda topic: "1", cluster_needs)
settings_rows(8, "logger", lambda topic: "1", cluster_needs)
settings_rows(16, "client-metrics", lambda topic: "all", cluster_needs)
settings_rows(32, "group", lambda topic: THE_GROUP, group_needs)
row(
    configs.ListConfigResourcesRequest,
    lambda version, topic: configs.ListConfigResourcesRequest(),
    cluster_needs(Op.DESCRIBE_CONFIGS),
)

# -- the cluster -------------------------------------------------------------------------------------------------------

row(
    cluster.DescribeLogDirsRequest,
    lambda version, topic: cluster.DescribeLogDirsRequest(None),
    cluster_needs(Op.DESCRIBE),
    since=3,
)
row(
    cluster.AlterReplicaLogDirsRequest,
    lambda version, topic: cluster.AlterReplicaLogDirsRequest(
        [cluster.AlterReplicaLogDir("elsewhere", [cluster.AlterReplicaLogDirTopic(topic.name, [0])])]
    ),
    cluster_needs(Op.ALTER),
)
row(
    cluster.UnregisterBrokerRequest,
    lambda version, topic: cluster.UnregisterBrokerRequest(1),
    cluster_needs(Op.ALTER),
)
row(
    quorum.DescribeQuorumRequest,
    lambda version, topic: quorum.DescribeQuorumRequest(
        [quorum.TopicAsked("__cluster_metadata", [quorum.PartitionAsked(0)])]
    ),
    cluster_needs(Op.DESCRIBE),
)
row(
    features.UpdateFeaturesRequest,
    lambda version, topic: features.UpdateFeaturesRequest(
        feature_updates=[features.FeatureUpdate("no.such.feature", 1)]
    ),
    cluster_needs(Op.ALTER),
)
row(
    replicas.ElectLeadersRequest,
    lambda version, topic: replicas.ElectLeadersRequest(0, [replicas.TopicPartitions(topic.name, [0])], 1000),
    cluster_needs(Op.ALTER),
)
row(
    replicas.AlterPartitionReassignmentsRequest,
    lambda version, topic: replicas.AlterPartitionReassignmentsRequest(
        1000, topics=[replicas.ReassignableTopic(topic.name, [replicas.ReassignablePartition(0, None)])]
    ),
    cluster_needs(Op.ALTER),
)
row(
    replicas.ListPartitionReassignmentsRequest,
    lambda version, topic: replicas.ListPartitionReassignmentsRequest(1000, None),
    cluster_needs(Op.DESCRIBE),
)
row(
    acls.DescribeAclsRequest,
    lambda version, topic: acls.DescribeAclsRequest(1, None, 1, None, None, 1, 1),
    cluster_needs(Op.DESCRIBE),
)
row(
    acls.CreateAclsRequest,
    lambda version, topic: acls.CreateAclsRequest([acls.AclCreation(2, "", 3, "User:x", "*", 3, 3)]),
    cluster_needs(Op.ALTER),
)
row(
    acls.DeleteAclsRequest,
    lambda version, topic: acls.DeleteAclsRequest([acls.DeleteAclsFilter(1, None, 1, "User:x", None, 1, 1)]),
    cluster_needs(Op.ALTER),
)
row(
    quotas.DescribeClientQuotasRequest,
    lambda version, topic: quotas.DescribeClientQuotasRequest(),
    cluster_needs(Op.DESCRIBE_CONFIGS),
)
row(
    scram.DescribeUserScramCredentialsRequest,
    lambda version, topic: scram.DescribeUserScramCredentialsRequest(None),
    cluster_needs(Op.DESCRIBE),
)
row(
    scram.AlterUserScramCredentialsRequest,
    lambda version, topic: scram.AlterUserScramCredentialsRequest([scram.ScramCredentialDeletion("nobody", 1)]),
    cluster_needs(Op.ALTER),
)


def denials_in(response: Any) -> set[int]:
    """The codes in a reply that say that somebody may not; those of a topic's settings are another question."""
    if isinstance(response, list):
        return set().union(*map(denials_in, response))
    if not isinstance(response, Struct):
        return set()
    found = set()
    for field in type(response).FIELDS:
        value = getattr(response, field.name)
        if field.name in ("error_code", "partition_error_code"):
            found |= {value} & DENIALS
        else:
            found |= denials_in(value)
    return found
