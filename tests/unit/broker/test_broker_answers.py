"""What administrators' tools ask of a broker beside topics and groups. Codes and forms are those of Apache Kafka 4.3.1."""

from collections.abc import Iterator

import pytest
from asked_brokers import AskedBrokers

from headrace.wire.codes import ErrorCode
from headrace.wire.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DescribeAclsRequest,
)
from headrace.wire.messages.api_versions import ApiVersionsRequest
from headrace.wire.messages.cluster import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
    DescribeLogDirsRequest,
)
from headrace.wire.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    ListConfigResourcesRequest,
)
from headrace.wire.messages.features import FeatureUpdate, UpdateFeaturesRequest
from headrace.wire.messages.metadata import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from headrace.wire.messages.quorum import DescribeQuorumRequest, PartitionAsked, TopicAsked
from headrace.wire.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from headrace.wire.messages.scram import (
    AlterUserScramCredentialsRequest,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)

EVERY_OPERATION_ON_A_TOPIC = 3576
TRANSACTIONS = "transaction.version"
UPGRADE, DOWNGRADE = 1, 2


@pytest.fixture(scope="module")
def one() -> Iterator[AskedBrokers]:
    brokers = AskedBrokers()
    for topic, partitions in (("aa", 3), ("bb", 2), ("cc", 1)):
        brokers.create(topic, partitions)
    yield brokers
    brokers.end()


@pytest.fixture
def fresh() -> Iterator[AskedBrokers]:
    brokers = AskedBrokers()
    yield brokers
    brokers.end()


# -- security that is off ----------------------------------------------------------------------------------------------


def test_acls_are_told_as_switched_off(one: AskedBrokers) -> None:
    described = one.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3)
    assert (described.error_code, described.resources) == (ErrorCode.SECURITY_DISABLED, [])
    created = one.ask(CreateAclsRequest([AclCreation(2, "t", 3, "User:a", "*", 3, 3)] * 2), 3)
    assert [each.error_code for each in created.results] == [ErrorCode.SECURITY_DISABLED] * 2
    deleted = one.ask(DeleteAclsRequest([DeleteAclsFilter(1, None, 1, None, None, 1, 1)]), 3)
    assert [(each.error_code, each.matching_acls) for each in deleted.filter_results] == [
        (ErrorCode.SECURITY_DISABLED, [])
    ]


# -- users -------------------------------------------------------------------------------------------------------------


def test_users_are_described(one: AskedBrokers) -> None:
    for users in (None, []):
        described = one.ask(DescribeUserScramCredentialsRequest(users), 0)
        assert (described.error_code, described.error_message, described.results) == (0, "", [])
    for name, mechanism in (("bob", 1), ("bob", 2), ("a/b =,\u00e4", 1)):
        made = ScramCredentialUpsertion(name, mechanism, 4096 * mechanism, b"salt", b"salted")
        altered = one.ask(AlterUserScramCredentialsRequest([], [made]), 0)
        assert [(each.user, each.error_code) for each in altered.results] == [(name, 0)]
    for users in (None, []):
        described = one.ask(DescribeUserScramCredentialsRequest(users), 0)
        assert {each.user: infos(each) for each in described.results} == {
            "bob": {1: 4096, 2: 8192},
            "a/b =,\u00e4": {1: 4096},
        }
    asked = [UserName("bob"), UserName("al"), UserName("cy"), UserName("cy")]
    described = one.ask(DescribeUserScramCredentialsRequest(asked), 0)
    assert {each.user: (each.error_code, infos(each)) for each in described.results} == {
        "bob": (0, {1: 4096, 2: 8192}),
        "al": (ErrorCode.RESOURCE_NOT_FOUND, {}),
        "cy": (ErrorCode.DUPLICATE_RESOURCE, {}),
    }


def infos(described: DescribeUserScramCredentialsResult) -> dict[int, int]:
    return {each.mechanism: each.iterations for each in described.credential_infos}


def test_users_are_altered_each_with_a_verdict(one: AskedBrokers) -> None:
    def made(name: str, mechanism: int = 1, iterations: int = 4096, salt: bytes = b"salt") -> ScramCredentialUpsertion:
        return ScramCredentialUpsertion(name, mechanism, iterations, salt, b"salted")

    one.ask(AlterUserScramCredentialsRequest([], [made("eve")]), 0)
    deletions = [ScramCredentialDeletion("dan", 1), ScramCredentialDeletion("eve", 1), ScramCredentialDeletion("x", 0)]
    twice = [made("cy", 1), made("cy", 2)]
    odd = [made(""), made("few", 1, 4095), made("many", 1, 16385), made("odd", 3), made("bare", salt=b"")]
    altered = one.ask(AlterUserScramCredentialsRequest(deletions, [made("al"), *twice, *odd]), 0)
    assert {each.user: each.error_code for each in altered.results} == {
        "dan": ErrorCode.RESOURCE_NOT_FOUND,
        "eve": 0,
        "x": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "al": 0,
        "cy": ErrorCode.DUPLICATE_RESOURCE,
        "": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "few": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "many": ErrorCode.UNACCEPTABLE_CREDENTIAL,
        "odd": ErrorCode.UNSUPPORTED_SASL_MECHANISM,
        "bare": ErrorCode.UNACCEPTABLE_CREDENTIAL,
    }
    described = one.ask(DescribeUserScramCredentialsRequest(None), 0)
    left = {each.user for each in described.results}
    assert "al" in left and not left & {"eve", "cy", "few", "many"}


def test_a_login_begins_nowhere_where_nobody_is_asked_for_one(one: AskedBrokers) -> None:
    assert one.ask(SaslHandshakeRequest("PLAIN"), 1).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert one.ask(SaslAuthenticateRequest(b"\0al\0x"), 2).error_code == ErrorCode.ILLEGAL_SASL_STATE


# -- topics, page by page ----------------------------------------------------------------------------------------------

Page = tuple[list[tuple[int, str, list[int]]], tuple[str, int] | None]


def page(one: AskedBrokers, topics: list[str], limit: int, cursor: tuple[str, int] | None = None) -> Page:
    request = DescribeTopicPartitionsRequest(
        [TopicRequest(name) for name in topics], limit, None if cursor is None else Cursor(*cursor)
    )
    answer = one.ask(request, 0)
    topics_told = [
        (topic.error_code, topic.name, [part.partition_index for part in topic.partitions]) for topic in answer.topics
    ]
    following = answer.next_cursor
    return topics_told, None if following is None else (following.topic_name, following.partition_index)


AA, BB, CC = (0, "aa", [0, 1, 2]), (0, "bb", [0, 1]), (0, "cc", [0])
INVALID = ErrorCode.INVALID_REQUEST
# As Kafka answers them, one by one.
PAGES = [
    ([], 2000, None, [AA, BB, CC], None),
    ([], 2, None, [(0, "aa", [0, 1])], ("aa", 2)),
    ([], 3, None, [AA], ("bb", 0)),
    ([], 4, ("aa", 2), [(0, "aa", [2]), BB, CC], None),
    ([], 9, ("b", 0), [BB, CC], None),
    ([], 9, ("aa", 3), [(0, "aa", []), BB, CC], None),
    ([], 9, ("nope", 1), [], None),
    (["bb", "nope", "aa", "bad name"], 10, None, [AA, (17, "bad name", []), BB, (3, "nope", [])], None),
    (["cc", "bb"], 1, ("bb", 1), [(0, "bb", [1])], ("cc", 0)),
    (["aa", "nope", "bb"], 3, None, [AA], ("bb", 0)),
    (["aa"], 0, None, [(0, "aa", [0])], ("aa", 1)),
    (["aa"], 5, ("aa", 7), [(0, "aa", [])], None),
    (["aa", "aa"], 9, None, [AA], None),
    (["aa"], 5, ("aa", -1), [(INVALID, "aa", [])], None),
    (["cc", "aa"], 2, ("bb", 0), [(INVALID, "cc", []), (INVALID, "aa", [])], None),
]


@pytest.mark.parametrize(("topics", "limit", "cursor", "told", "following"), PAGES)
def test_pages_of_partitions(one: AskedBrokers, topics, limit, cursor, told, following) -> None:
    assert page(one, topics, limit, cursor) == (told, following)


def test_a_partition_is_described_without_nulls(one: AskedBrokers) -> None:
    (topic,) = one.ask(DescribeTopicPartitionsRequest([TopicRequest("cc")], 10), 0).topics
    (part,) = topic.partitions
    assert (part.leader_id, part.leader_epoch, part.replica_nodes, part.isr_nodes) == (1, 0, [1], [1])
    assert (part.eligible_leader_replicas, part.last_known_elr, part.offline_replicas) == ([], [], [])
    assert (any(topic.topic_id), topic.topic_authorized_operations) == (True, EVERY_OPERATION_ON_A_TOPIC)


# -- settings ----------------------------------------------------------------------------------------------------------


def resources(one: AskedBrokers, kinds: list[int], version: int = 1) -> tuple[int, list[tuple[int, str]]]:
    answer = one.ask(ListConfigResourcesRequest(kinds), version)
    return answer.error_code, [(each.resource_type, each.resource_name) for each in answer.config_resources]


def test_what_has_settings(one: AskedBrokers) -> None:
    topics = [(2, "aa"), (2, "bb"), (2, "cc")]
    assert resources(one, []) == (0, [(4, "1"), *topics])
    assert resources(one, [2, 16]) == (0, topics)
    assert resources(one, [8, 16, 32]) == (0, [])
    for unknown in (0, 64, 99):
        assert resources(one, [2, unknown]) == (ErrorCode.UNSUPPORTED_VERSION, [])
    assert resources(one, [], version=0) == (0, [])


def test_a_broker_tells_what_it_was_started_with(one: AskedBrokers) -> None:
    asked = DescribeConfigsRequest([DescribeConfigsResource(4, "1", None)], include_synonyms=True)
    static = {
        each.name: each.value
        for each in one.ask(asked, 4).results[0].configs
        if each.config_source == 4 and each.read_only
    }
    assert static["advertised.listeners"] == static["listeners"] == "PLAINTEXT://10.0.0.1:9092"
    assert (static["node.id"], static["broker.rack"], static["log.dirs"]) == ("1", "rack 1", "/data/logs")


# -- directories -------------------------------------------------------------------------------------------------------


def test_replicas_stay_in_the_one_directory_of_a_broker(one: AskedBrokers) -> None:
    wanted = [AlterReplicaLogDirTopic("aa", [0, 9]), AlterReplicaLogDirTopic("nope", [0])]

    def codes(path: str) -> list[int]:
        answer = one.ask(AlterReplicaLogDirsRequest([AlterReplicaLogDir(path, wanted)]), 2)
        assert [each.topic_name for each in answer.results] == ["aa", "nope"]
        return [part.error_code for each in answer.results for part in each.partitions]

    (directory,) = one.ask(DescribeLogDirsRequest(None), 5).results
    assert (directory.is_cordoned, len(directory.topics)) == (False, 3)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(directory.log_dir) == codes(f"{directory.log_dir}/") == [0, unknown, unknown]
    assert codes("/elsewhere") == codes("") == [ErrorCode.LOG_DIR_NOT_FOUND] * 3


def test_a_replica_of_another_broker_is_not_here() -> None:
    three = AskedBrokers(3)
    three.create("aa", 3)
    (directory,) = three.ask(DescribeLogDirsRequest(None), 5).results
    request = AlterReplicaLogDirsRequest(
        [AlterReplicaLogDir(directory.log_dir, [AlterReplicaLogDirTopic("aa", [0, 1, 2])])]
    )
    codes = sorted(part.error_code for part in three.ask(request, 2).results[0].partitions)
    assert codes == [0, ErrorCode.REPLICA_NOT_AVAILABLE, ErrorCode.REPLICA_NOT_AVAILABLE]
    three.end()


# -- features ----------------------------------------------------------------------------------------------------------


def finalized(brokers: AskedBrokers) -> tuple[dict[str, int], int]:
    answer = brokers.ask(ApiVersionsRequest("test", "1"), 4)
    levels = {each.name: each.max_version_level for each in answer.finalized_features}
    return levels, answer.finalized_features_epoch


def update(brokers: AskedBrokers, level: int, kind: int, feature: str = TRANSACTIONS, **more: bool) -> int:
    wanted = [FeatureUpdate(feature, level, upgrade_type=kind)]
    return int(brokers.ask(UpdateFeaturesRequest(feature_updates=wanted, **more), 2).error_code)


def test_a_feature_is_lowered_and_raised_again(fresh: AskedBrokers) -> None:
    before, epoch = finalized(fresh)
    assert before == {TRANSACTIONS: 2}
    assert update(fresh, 1, DOWNGRADE, validate_only=True) == 0
    assert finalized(fresh) == (before, epoch)
    assert update(fresh, 1, DOWNGRADE) == 0
    lowered, later = finalized(fresh)
    assert (lowered, later > epoch) == ({TRANSACTIONS: 1}, True)
    assert update(fresh, 0, DOWNGRADE) == 0
    assert finalized(fresh)[0] == {}
    assert update(fresh, 2, UPGRADE) == 0
    raised, latest = finalized(fresh)
    assert (raised, latest > later) == ({TRANSACTIONS: 2}, True)
    assert update(fresh, 2, UPGRADE) == 0
    assert finalized(fresh) == (raised, latest)


def test_updates_of_features_that_are_refused(one: AskedBrokers) -> None:
    before = finalized(one)
    assert before[0] == {TRANSACTIONS: 2}
    for level, kind, feature in (
        (1, UPGRADE, "no.such.feature"),
        (1, UPGRADE, TRANSACTIONS),
        (3, UPGRADE, TRANSACTIONS),
        (-1, DOWNGRADE, TRANSACTIONS),
        (1, 0, TRANSACTIONS),
        (1, 9, TRANSACTIONS),
    ):
        assert update(one, level, kind, feature) == ErrorCode.INVALID_UPDATE_VERSION
    both = [FeatureUpdate(TRANSACTIONS, 1, upgrade_type=DOWNGRADE), FeatureUpdate("no.such.feature", 1)]
    answer = one.ask(UpdateFeaturesRequest(feature_updates=both), 1)
    assert (answer.error_code, answer.results) == (ErrorCode.INVALID_UPDATE_VERSION, [])
    old = [FeatureUpdate(TRANSACTIONS, 1, allow_downgrade=False)]
    assert one.ask(UpdateFeaturesRequest(feature_updates=old), 0).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert finalized(one) == before


# -- the metadata's quorum ---------------------------------------------------------------------------------------------


def test_the_quorum_is_the_brokers_and_its_leader_controls() -> None:
    three = AskedBrokers(3)
    asked = DescribeQuorumRequest([TopicAsked("__cluster_metadata", [PartitionAsked(0), PartitionAsked(1)])])
    answer = three.ask(asked, 2)
    told, unknown = answer.topics[0].partitions
    image = three.cluster.checks.image()
    assert (told.error_code, told.leader_id) == (0, image.controller.broker_id)
    assert (told.leader_epoch, told.high_watermark) == (image.controller.epoch, image.revision)
    assert {each.replica_id: each.log_end_offset for each in told.current_voters} == dict.fromkeys(
        (1, 2, 3), image.revision
    )
    assert all(each.last_caught_up_timestamp > 0 and any(each.replica_directory_id) for each in told.current_voters)
    assert {each.node_id: each.listeners[0].host for each in answer.nodes} == {
        1: "10.0.0.1",
        2: "10.0.0.2",
        3: "10.0.0.3",
    }
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    three.end()


def test_the_quorum_tells_who_is_away() -> None:
    three = AskedBrokers(3)
    three.cluster.world.kill(three.cluster.world.hosts[2])
    three.cluster.run(5.0)
    asked = DescribeQuorumRequest([TopicAsked("__cluster_metadata", [PartitionAsked(0)])])
    told = three.ask(asked, 1).topics[0].partitions[0]
    ends = {each.replica_id: each.log_end_offset for each in told.current_voters}
    assert (ends[3], min(ends[1], ends[2]) > 0, told.leader_id in (1, 2)) == (-1, True, True)
    three.end()


def test_no_other_topic_has_a_quorum(one: AskedBrokers) -> None:
    answer = one.ask(DescribeQuorumRequest([TopicAsked("aa", [PartitionAsked(0)])]), 2)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (answer.error_code, answer.nodes) == (0, [])
    assert one.ask(DescribeQuorumRequest([]), 0).topics == []
