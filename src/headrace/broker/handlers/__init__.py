"""One function per API, and the table of all that work. An API is advertised because it is in this table."""

from headrace.broker.handlers import takes
from headrace.broker.handlers.acls import handle_create_acls, handle_delete_acls, handle_describe_acls
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
from headrace.broker.handlers.quotas import handle_describe_client_quotas
from headrace.broker.handlers.reassignments import (
    handle_alter_partition_reassignments,
    handle_list_partition_reassignments,
)
from headrace.broker.handlers.sasl import handle_sasl_authenticate, handle_sasl_handshake
from headrace.broker.handlers.tokens import (
    handle_create_delegation_token,
    handle_describe_delegation_token,
    handle_expire_delegation_token,
    handle_renew_delegation_token,
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
from headrace.broker.handlers.users import (
    handle_alter_user_scram_credentials,
    handle_describe_user_scram_credentials,
)
from headrace.broker.net.dispatch import Handler
from headrace.broker.security.screens.cluster import (
    no_config_resources,
    no_election,
    no_features,
    no_log_dirs,
    no_moves,
    no_moves_listed,
    no_other_log_dirs,
    no_quorum,
    no_unregistering,
    screen_alter_configs,
    screen_describe_configs,
    screen_find_coordinator,
)
from headrace.broker.security.screens.groups import (
    screen_delete_groups,
    screen_describe_consumer_groups,
    screen_describe_groups,
    screen_heartbeat_of_consumer,
    screen_list_groups,
    with_group,
)
from headrace.broker.security.screens.offsets import (
    screen_offset_commit,
    screen_offset_delete,
    screen_offset_fetch,
    screen_txn_offset_commit,
)
from headrace.broker.security.screens.parts import (
    with_cluster,
)
from headrace.broker.security.screens.records import (
    screen_delete_records,
    screen_describe_producers,
    screen_list_offsets,
    screen_offset_for_leader_epoch,
    screen_produce,
)
from headrace.broker.security.screens.security import (
    no_acls,
    no_acls_deleted,
    no_new_acls,
    no_quotas,
    no_users,
    no_users_altered,
)
from headrace.broker.security.screens.topics import (
    screen_create_partitions,
    screen_create_topics,
    screen_delete_topics,
)
from headrace.broker.security.screens.transactions import (
    screen_add_offsets_to_txn,
    screen_add_partitions_to_txn,
    screen_describe_transactions,
    screen_end_txn,
    screen_init_producer_id,
    screen_list_transactions,
    unmarked,
)
from headrace.security.operations import Operation
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
from headrace.wire.messages.quotas import DescribeClientQuotasRequest
from headrace.wire.messages.replicas import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from headrace.wire.messages.scram import AlterUserScramCredentialsRequest, DescribeUserScramCredentialsRequest
from headrace.wire.messages.tokens import (
    CreateDelegationTokenRequest,
    DescribeDelegationTokenRequest,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
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
    Handler(ProduceRequest, handle_produce, screen_produce, advertised_min=0),
    Handler(FetchRequest, handle_fetch),
    Handler(ListOffsetsRequest, takes.partitions(handle_list_offsets), screen_list_offsets),
    Handler(MetadataRequest, handle_metadata),
    Handler(
        DescribeTopicPartitionsRequest,
        lambda broker, request: handle_describe_topic_partitions(broker.view, broker.new_leaders, request),
    ),
    Handler(
        FindCoordinatorRequest,
        lambda broker, request: handle_find_coordinator(broker.coordinators, broker.transactions, request),
        screen_find_coordinator,
    ),
    Handler(
        OffsetCommitRequest,
        lambda broker, request: handle_offset_commit(broker.view, broker.coordinators, request),
        screen_offset_commit,
    ),
    Handler(
        OffsetFetchRequest,
        lambda broker, request: handle_offset_fetch(broker.view, broker.coordinators, request),
        screen_offset_fetch,
    ),
    Handler(JoinGroupRequest, takes.groups(handle_one_group), with_group(Operation.READ)),
    Handler(HeartbeatRequest, takes.groups(handle_one_group), with_group(Operation.READ)),
    Handler(LeaveGroupRequest, takes.groups(handle_one_group), with_group(Operation.READ)),
    Handler(SyncGroupRequest, takes.groups(handle_one_group), with_group(Operation.READ)),
    Handler(ConsumerGroupHeartbeatRequest, takes.groups(handle_one_group), screen_heartbeat_of_consumer),
    Handler(
        ConsumerGroupDescribeRequest,
        takes.groups(handle_consumer_group_describe),
        screen_describe_consumer_groups,
    ),
    Handler(SaslHandshakeRequest, takes.nothing(handle_sasl_handshake)),
    Handler(SaslAuthenticateRequest, takes.nothing(handle_sasl_authenticate)),
    Handler(DescribeGroupsRequest, takes.groups(handle_describe_groups), screen_describe_groups),
    Handler(ListGroupsRequest, takes.groups(handle_list_groups), screen_list_groups),
    Handler(DeleteGroupsRequest, takes.groups(handle_delete_groups), screen_delete_groups),
    Handler(OffsetDeleteRequest, takes.groups(handle_one_group), screen_offset_delete),
    Handler(ApiVersionsRequest, lambda broker, request: handle_api_versions(broker.view, broker.dispatch, request)),
    Handler(CreateTopicsRequest, handle_create_topics, screen_create_topics),
    Handler(DeleteTopicsRequest, handle_delete_topics, screen_delete_topics),
    Handler(DeleteRecordsRequest, takes.hosting(handle_delete_records), screen_delete_records),
    Handler(
        InitProducerIdRequest,
        lambda broker, request: handle_init_producer_id(broker.transactions, broker.producer_ids, request),
        screen_init_producer_id,
    ),
    Handler(
        AddPartitionsToTxnRequest,
        lambda broker, request: handle_add_partitions_to_txn(broker.view, broker.transactions, request),
        screen_add_partitions_to_txn,
    ),
    Handler(
        AddOffsetsToTxnRequest,
        lambda broker, request: handle_add_offsets_to_txn(broker.coordinators, broker.transactions, request),
        screen_add_offsets_to_txn,
    ),
    Handler(EndTxnRequest, takes.transactions(handle_end_txn), screen_end_txn),
    Handler(
        TxnOffsetCommitRequest,
        lambda broker, request: handle_txn_offset_commit(
            broker.view, broker.coordinators, broker.transaction_checks, request
        ),
        screen_txn_offset_commit,
    ),
    Handler(
        WriteTxnMarkersRequest,
        lambda broker, request: handle_write_txn_markers(broker.markers, broker.tasks, request),
        with_cluster(Operation.ALTER, Operation.CLUSTER_ACTION, refused=unmarked),
    ),
    Handler(
        OffsetForLeaderEpochRequest,
        takes.partitions(handle_offset_for_leader_epoch),
        screen_offset_for_leader_epoch,
    ),
    Handler(
        DescribeConfigsRequest,
        lambda broker, request: handle_describe_configs(broker.view, broker.listeners, broker.partitions, request),
        screen_describe_configs,
    ),
    Handler(AlterConfigsRequest, takes.view(handle_alter_configs), screen_alter_configs),
    Handler(IncrementalAlterConfigsRequest, takes.view(handle_incremental_alter_configs), screen_alter_configs),
    Handler(
        ListConfigResourcesRequest,
        takes.view(handle_list_config_resources),
        with_cluster(Operation.DESCRIBE_CONFIGS, refused=no_config_resources),
    ),
    Handler(
        DescribeLogDirsRequest,
        lambda broker, request: handle_describe_log_dirs(broker.partitions, broker.disk, request),
        with_cluster(Operation.DESCRIBE, refused=no_log_dirs),
    ),
    Handler(
        AlterReplicaLogDirsRequest,
        lambda broker, request: handle_alter_replica_log_dirs(broker.view, broker.partitions, request),
        with_cluster(Operation.ALTER, refused=no_other_log_dirs),
    ),
    Handler(CreatePartitionsRequest, handle_create_partitions, screen_create_partitions),
    Handler(
        ElectLeadersRequest,
        lambda broker, request: handle_elect_leaders(broker.view, broker.probes, request),
        with_cluster(Operation.ALTER, refused=no_election),
    ),
    Handler(
        AlterPartitionReassignmentsRequest,
        takes.view(handle_alter_partition_reassignments),
        with_cluster(Operation.ALTER, refused=no_moves),
    ),
    Handler(
        ListPartitionReassignmentsRequest,
        takes.view(handle_list_partition_reassignments),
        with_cluster(Operation.DESCRIBE, refused=no_moves_listed),
    ),
    Handler(DescribeProducersRequest, takes.partitions(handle_describe_producers), screen_describe_producers),
    Handler(
        DescribeTransactionsRequest,
        takes.transactions(handle_describe_transactions),
        screen_describe_transactions,
    ),
    Handler(ListTransactionsRequest, takes.transactions(handle_list_transactions), screen_list_transactions),
    Handler(DescribeClusterRequest, takes.view(handle_describe_cluster)),
    Handler(
        UnregisterBrokerRequest,
        takes.view(handle_unregister_broker),
        with_cluster(Operation.ALTER, refused=no_unregistering),
    ),
    Handler(
        DescribeQuorumRequest,
        lambda broker, request: handle_describe_quorum(broker.view, broker.peers, request),
        with_cluster(Operation.DESCRIBE, refused=no_quorum),
    ),
    Handler(
        UpdateFeaturesRequest,
        takes.view(handle_update_features),
        with_cluster(Operation.ALTER, refused=no_features),
    ),
    Handler(
        DescribeAclsRequest,
        takes.view(handle_describe_acls),
        with_cluster(Operation.DESCRIBE, refused=no_acls),
    ),
    Handler(CreateAclsRequest, takes.view(handle_create_acls), with_cluster(Operation.ALTER, refused=no_new_acls)),
    Handler(
        DeleteAclsRequest,
        takes.view(handle_delete_acls),
        with_cluster(Operation.ALTER, refused=no_acls_deleted),
    ),
    Handler(
        DescribeClientQuotasRequest,
        takes.nothing(handle_describe_client_quotas),
        with_cluster(Operation.DESCRIBE_CONFIGS, refused=no_quotas),
    ),
    Handler(
        DescribeUserScramCredentialsRequest,
        takes.view(handle_describe_user_scram_credentials),
        with_cluster(Operation.DESCRIBE, refused=no_users),
    ),
    Handler(
        AlterUserScramCredentialsRequest,
        takes.view(handle_alter_user_scram_credentials),
        with_cluster(Operation.ALTER, refused=no_users_altered),
    ),
    Handler(
        CreateDelegationTokenRequest,
        lambda broker, request: handle_create_delegation_token(broker.view, broker.new_uuid, request),
    ),
    Handler(RenewDelegationTokenRequest, takes.view(handle_renew_delegation_token)),
    Handler(ExpireDelegationTokenRequest, takes.view(handle_expire_delegation_token)),
    Handler(DescribeDelegationTokenRequest, takes.view(handle_describe_delegation_token)),
)
