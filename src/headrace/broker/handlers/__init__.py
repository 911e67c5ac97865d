"""One function per API, and the table of all that work. An API is advertised because it is in this table."""

from headrace.broker.handlers import takes
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
from headrace.broker.handlers.sasl import handle_sasl_authenticate, handle_sasl_handshake
from headrace.broker.handlers.security_disabled import handle_create_acls, handle_delete_acls, handle_describe_acls
from headrace.broker.handlers.topic_partitions import handle_describe_topic_partitions
from headrace.broker.handlers.topics import handle_create_partitions, handle_create_topics, handle_delete_topics
from headrace.broker.handlers.transactions import (
    handle_add_offsets_to_txn,
    handle_add_partitions_to_txn,
    handle_end_txn,
    handle_init_producer_id,
)
from headrace.broker.handlers.txn_offsets import handle_txn_offset_commit
from headrace.broker.handlers.users import (
    handle_alter_user_scram_credentials,
    handle_describe_user_scram_credentials,
)
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
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
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
    Handler(ListOffsetsRequest, takes.partitions(handle_list_offsets), Access("Describe", "Topic")),
    Handler(MetadataRequest, handle_metadata, Access("Describe", "Topic")),
    Handler(
        DescribeTopicPartitionsRequest,
        lambda broker, request: handle_describe_topic_partitions(broker.view, broker.new_leaders, request),
        Access("Describe", "Topic"),
    ),
    Handler(
        FindCoordinatorRequest,
        lambda broker, request: handle_find_coordinator(broker.coordinators, broker.transactions, request),
        Access("Describe", "Group"),
    ),
    Handler(
        OffsetCommitRequest,
        lambda broker, request: handle_offset_commit(broker.view, broker.coordinators, request),
        Access("Read", "Group"),
    ),
    Handler(
        OffsetFetchRequest,
        lambda broker, request: handle_offset_fetch(broker.view, broker.coordinators, request),
        Access("Describe", "Group"),
    ),
    Handler(JoinGroupRequest, takes.groups(handle_one_group), Access("Read", "Group")),
    Handler(HeartbeatRequest, takes.groups(handle_one_group), Access("Read", "Group")),
    Handler(LeaveGroupRequest, takes.groups(handle_one_group), Access("Read", "Group")),
    Handler(SyncGroupRequest, takes.groups(handle_one_group), Access("Read", "Group")),
    Handler(ConsumerGroupHeartbeatRequest, takes.groups(handle_one_group), Access("Read", "Group")),
    Handler(ConsumerGroupDescribeRequest, takes.groups(handle_consumer_group_describe), Access("Describe", "Group")),
    Handler(DescribeGroupsRequest, takes.groups(handle_describe_groups), Access("Describe", "Group")),
    Handler(ListGroupsRequest, takes.groups(handle_list_groups), Access("Describe", "Cluster")),
    Handler(DeleteGroupsRequest, takes.groups(handle_delete_groups), Access("Delete", "Group")),
    Handler(OffsetDeleteRequest, takes.groups(handle_one_group), Access("Delete", "Group")),
    Handler(
        ApiVersionsRequest, lambda broker, request: handle_api_versions(broker.view, broker.dispatch, request), None
    ),
    Handler(SaslHandshakeRequest, takes.nothing(handle_sasl_handshake), None),
    Handler(SaslAuthenticateRequest, takes.nothing(handle_sasl_authenticate), None),
    Handler(CreateTopicsRequest, handle_create_topics, Access("Create", "Cluster")),
    Handler(DeleteTopicsRequest, handle_delete_topics, Access("Delete", "Topic")),
    Handler(DeleteRecordsRequest, takes.partitions(handle_delete_records), Access("Delete", "Topic")),
    Handler(
        InitProducerIdRequest,
        lambda broker, request: handle_init_producer_id(broker.transactions, broker.producer_ids, request),
        Access("IdempotentWrite", "Cluster"),
    ),
    Handler(
        AddPartitionsToTxnRequest,
        lambda broker, request: handle_add_partitions_to_txn(broker.view, broker.transactions, request),
        Access("Write", "TransactionalId"),
    ),
    Handler(
        AddOffsetsToTxnRequest,
        lambda broker, request: handle_add_offsets_to_txn(broker.coordinators, broker.transactions, request),
        Access("Write", "TransactionalId"),
    ),
    Handler(EndTxnRequest, takes.transactions(handle_end_txn), Access("Write", "TransactionalId")),
    Handler(
        TxnOffsetCommitRequest,
        lambda broker, request: handle_txn_offset_commit(
            broker.view, broker.coordinators, broker.transaction_checks, request
        ),
        Access("Read", "Group"),
    ),
    Handler(
        WriteTxnMarkersRequest,
        lambda broker, request: handle_write_txn_markers(broker.markers, broker.tasks, request),
        Access("ClusterAction", "Cluster"),
    ),
    Handler(OffsetForLeaderEpochRequest, takes.partitions(handle_offset_for_leader_epoch), Access("Describe", "Topic")),
    Handler(
        DescribeConfigsRequest,
        lambda broker, request: handle_describe_configs(broker.view, broker.listeners, broker.partitions, request),
        Access("DescribeConfigs", "Topic"),
    ),
    Handler(AlterConfigsRequest, takes.view(handle_alter_configs), Access("AlterConfigs", "Topic")),
    Handler(
        IncrementalAlterConfigsRequest, takes.view(handle_incremental_alter_configs), Access("AlterConfigs", "Topic")
    ),
    Handler(ListConfigResourcesRequest, takes.view(handle_list_config_resources), Access("DescribeConfigs", "Cluster")),
    Handler(
        DescribeLogDirsRequest,
        lambda broker, request: handle_describe_log_dirs(broker.partitions, broker.disk, request),
        Access("Describe", "Cluster"),
    ),
    Handler(
        AlterReplicaLogDirsRequest,
        lambda broker, request: handle_alter_replica_log_dirs(broker.view, broker.partitions, request),
        Access("Alter", "Cluster"),
    ),
    Handler(CreatePartitionsRequest, handle_create_partitions, Access("Alter", "Topic")),
    Handler(
        ElectLeadersRequest,
        lambda broker, request: handle_elect_leaders(broker.view, broker.probes, request),
        Access("Alter", "Cluster"),
    ),
    Handler(
        AlterPartitionReassignmentsRequest, takes.view(handle_alter_partition_reassignments), Access("Alter", "Cluster")
    ),
    Handler(
        ListPartitionReassignmentsRequest,
        takes.view(handle_list_partition_reassignments),
        Access("Describe", "Cluster"),
    ),
    Handler(DescribeProducersRequest, takes.partitions(handle_describe_producers), Access("Read", "Topic")),
    Handler(
        DescribeTransactionsRequest,
        takes.transactions(handle_describe_transactions),
        Access("Describe", "TransactionalId"),
    ),
    Handler(
        ListTransactionsRequest, takes.transactions(handle_list_transactions), Access("Describe", "TransactionalId")
    ),
    Handler(DescribeClusterRequest, takes.view(handle_describe_cluster), Access("Describe", "Cluster")),
    Handler(UnregisterBrokerRequest, takes.view(handle_unregister_broker), Access("Alter", "Cluster")),
    Handler(
        DescribeQuorumRequest,
        lambda broker, request: handle_describe_quorum(broker.view, broker.peers, request),
        Access("Describe", "Cluster"),
    ),
    Handler(UpdateFeaturesRequest, takes.view(handle_update_features), Access("Alter", "Cluster")),
    Handler(DescribeAclsRequest, takes.nothing(handle_describe_acls), Access("Describe", "Cluster")),
    Handler(CreateAclsRequest, takes.nothing(handle_create_acls), Access("Alter", "Cluster")),
    Handler(DeleteAclsRequest, takes.nothing(handle_delete_acls), Access("Alter", "Cluster")),
    Handler(
        DescribeUserScramCredentialsRequest,
        takes.view(handle_describe_user_scram_credentials),
        Access("Describe", "Cluster"),
    ),
    Handler(
        AlterUserScramCredentialsRequest, takes.view(handle_alter_user_scram_credentials), Access("Alter", "Cluster")
    ),
)
