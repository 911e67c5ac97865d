"""One function per API, and the table of all that work. An API is advertised because it is in this table."""

from headrace.broker.handlers.api_versions import handle_api_versions
from headrace.broker.handlers.cluster import handle_describe_cluster, handle_unregister_broker
from headrace.broker.handlers.config_resources import handle_list_config_resources
from headrace.broker.handlers.configs import (
    handle_alter_configs,
    handle_describe_configs,
    handle_incremental_alter_configs,
)
from headrace.broker.handlers.coordinators import handle_find_coordinator
from headrace.broker.handlers.features import handle_update_features
from headrace.broker.handlers.fetch import handle_fetch
from headrace.broker.handlers.groups import (
    handle_consumer_group_describe,
    handle_delete_groups,
    handle_describe_groups,
    handle_list_groups,
    handle_offset_commit,
    handle_offset_fetch,
    handle_one_group,
)
from headrace.broker.handlers.leaders import handle_elect_leaders
from headrace.broker.handlers.log_dirs import handle_alter_replica_log_dirs, handle_describe_log_dirs
from headrace.broker.handlers.markers import handle_write_txn_markers
from headrace.broker.handlers.metadata import handle_metadata
from headrace.broker.handlers.offsets import (
    handle_delete_records,
    handle_list_offsets,
    handle_offset_for_leader_epoch,
)
from headrace.broker.handlers.produce import handle_produce
from headrace.broker.handlers.producers import (
    handle_describe_producers,
    handle_describe_transactions,
    handle_list_transactions,
)
from headrace.broker.handlers.quorum import handle_describe_quorum
from headrace.broker.handlers.reassignments import (
    handle_alter_partition_reassignments,
    handle_list_partition_reassignments,
)
from headrace.broker.handlers.security_disabled import (
    handle_alter_user_scram_credentials,
    handle_create_acls,
    handle_delete_acls,
    handle_describe_acls,
    handle_describe_user_scram_credentials,
)
from headrace.broker.handlers.topic_partitions import handle_describe_topic_partitions
from headrace.broker.handlers.topics import handle_create_partitions, handle_create_topics, handle_delete_topics
from headrace.broker.handlers.transactions import (
    handle_add_offsets_to_txn,
    handle_add_partitions_to_txn,
    handle_end_txn,
    handle_init_producer_id,
)
from headrace.broker.handlers.txn_offsets import handle_txn_offset_commit
from headrace.broker.net.dispatch import Access, Handler
from headrace.wire.messages.acls import CreateAclsRequest, DeleteAclsRequest, DescribeAclsRequest
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.cluster import (
    AlterReplicaLogDirsRequest,
    DescribeClusterRequest,
    DescribeLogDirsRequest,
    UnregisterBrokerRequest,
)
from headrace.wire.messages.configs import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
)
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.features import UpdateFeaturesRequest
from headrace.wire.messages.fetch import FetchRequest
from headrace.wire.messages.group_offsets import OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest
from headrace.wire.messages.groups_admin import DeleteGroupsRequest, DescribeGroupsRequest, ListGroupsRequest
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from headrace.wire.messages.groups_consumer import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from headrace.wire.messages.metadata import DescribeTopicPartitionsRequest, MetadataRequest
from headrace.wire.messages.offsets import DeleteRecordsRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
from headrace.wire.messages.produce import ProduceRequest
from headrace.wire.messages.producers import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from headrace.wire.messages.quorum import DescribeQuorumRequest
from headrace.wire.messages.replicas import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from headrace.wire.messages.scram import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
from headrace.wire.messages.topics import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from headrace.wire.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)

HANDLERS = (
    # Produce 0-2 are advertised and refused: without them librdkafka before 2.8 sends everything uncompressed.
    Handler(ProduceRequest, handle_produce, Access("Write", "Topic"), advertised_min=0),
    Handler(FetchRequest, handle_fetch, Access("Read", "Topic")),
    Handler(ListOffsetsRequest, handle_list_offsets, Access("Describe", "Topic")),
    Handler(MetadataRequest, handle_metadata, Access("Describe", "Topic")),
    Handler(DescribeTopicPartitionsRequest, handle_describe_topic_partitions, Access("Describe", "Topic")),
    Handler(FindCoordinatorRequest, handle_find_coordinator, Access("Describe", "Group")),
    Handler(OffsetCommitRequest, handle_offset_commit, Access("Read", "Group")),
    Handler(OffsetFetchRequest, handle_offset_fetch, Access("Describe", "Group")),
    Handler(JoinGroupRequest, handle_one_group, Access("Read", "Group")),
    Handler(HeartbeatRequest, handle_one_group, Access("Read", "Group")),
    Handler(LeaveGroupRequest, handle_one_group, Access("Read", "Group")),
    Handler(SyncGroupRequest, handle_one_group, Access("Read", "Group")),
    Handler(ConsumerGroupHeartbeatRequest, handle_one_group, Access("Read", "Group")),
    Handler(ConsumerGroupDescribeRequest, handle_consumer_group_describe, Access("Describe", "Group")),
    Handler(DescribeGroupsRequest, handle_describe_groups, Access("Describe", "Group")),
    Handler(ListGroupsRequest, handle_list_groups, Access("Describe", "Cluster")),
    Handler(DeleteGroupsRequest, handle_delete_groups, Access("Delete", "Group")),
    Handler(OffsetDeleteRequest, handle_one_group, Access("Delete", "Group")),
    Handler(ApiVersionsRequest, handle_api_versions, None),
    Handler(CreateTopicsRequest, handle_create_topics, Access("Create", "Cluster")),
    Handler(DeleteTopicsRequest, handle_delete_topics, Access("Delete", "Topic")),
    Handler(DeleteRecordsRequest, handle_delete_records, Access("Delete", "Topic")),
    Handler(InitProducerIdRequest, handle_init_producer_id, Access("IdempotentWrite", "Cluster")),
    Handler(AddPartitionsToTxnRequest, handle_add_partitions_to_txn, Access("Write", "TransactionalId")),
    Handler(AddOffsetsToTxnRequest, handle_add_offsets_to_txn, Access("Write", "TransactionalId")),
    Handler(EndTxnRequest, handle_end_txn, Access("Write", "TransactionalId")),
    Handler(TxnOffsetCommitRequest, handle_txn_offset_commit, Access("Read", "Group")),
    Handler(WriteTxnMarkersRequest, handle_write_txn_markers, Access("ClusterAction", "Cluster")),
    Handler(OffsetForLeaderEpochRequest, handle_offset_for_leader_epoch, Access("Describe", "Topic")),
    Handler(DescribeConfigsRequest, handle_describe_configs, Access("DescribeConfigs", "Topic")),
    Handler(AlterConfigsRequest, handle_alter_configs, Access("AlterConfigs", "Topic")),
    Handler(IncrementalAlterConfigsRequest, handle_incremental_alter_configs, Access("AlterConfigs", "Topic")),
    Handler(ListConfigResourcesRequest, handle_list_config_resources, Access("DescribeConfigs", "Cluster")),
    Handler(DescribeLogDirsRequest, handle_describe_log_dirs, Access("Describe", "Cluster")),
    Handler(AlterReplicaLogDirsRequest, handle_alter_replica_log_dirs, Access("Alter", "Cluster")),
    Handler(CreatePartitionsRequest, handle_create_partitions, Access("Alter", "Topic")),
    Handler(ElectLeadersRequest, handle_elect_leaders, Access("Alter", "Cluster")),
    Handler(AlterPartitionReassignmentsRequest, handle_alter_partition_reassignments, Access("Alter", "Cluster")),
    Handler(ListPartitionReassignmentsRequest, handle_list_partition_reassignments, Access("Describe", "Cluster")),
    Handler(DescribeProducersRequest, handle_describe_producers, Access("Read", "Topic")),
    Handler(DescribeTransactionsRequest, handle_describe_transactions, Access("Describe", "TransactionalId")),
    Handler(ListTransactionsRequest, handle_list_transactions, Access("Describe", "TransactionalId")),
    Handler(DescribeClusterRequest, handle_describe_cluster, Access("Describe", "Cluster")),
    Handler(UnregisterBrokerRequest, handle_unregister_broker, Access("Alter", "Cluster")),
    Handler(DescribeQuorumRequest, handle_describe_quorum, Access("Describe", "Cluster")),
    Handler(UpdateFeaturesRequest, handle_update_features, Access("Alter", "Cluster")),
    Handler(DescribeAclsRequest, handle_describe_acls, Access("Describe", "Cluster")),
    Handler(CreateAclsRequest, handle_create_acls, Access("Alter", "Cluster")),
    Handler(DeleteAclsRequest, handle_delete_acls, Access("Alter", "Cluster")),
    Handler(DescribeUserScramCredentialsRequest, handle_describe_user_scram_credentials, Access("Describe", "Cluster")),
    Handler(AlterUserScramCredentialsRequest, handle_alter_user_scram_credentials, Access("Alter", "Cluster")),
)
