"""Lists show what one may know of and nothing else; rules speak from the next request on, also inside of sessions."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from acl_rig import ADMIN, SECONDS_MAX, Client, as_principals, guarded_broker, rule

from acl_rows import CLUSTER, GROUP, TOPIC, TXN, denials_in
from eventually import until
from headrace.client.connection import Disconnected
from headrace.security.operations import Operation, Permission, ResourceType, bits
from headrace.testing import Broker
from headrace.wire.codec import encode
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.acls import CreateAclsRequest, DeleteAclsFilter, DeleteAclsRequest
from headrace.wire.messages.cluster import DescribeClusterRequest, DescribeLogDirsRequest
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from headrace.wire.messages.groups_admin import DescribeGroupsRequest, ListGroupsRequest
from headrace.wire.messages.groups_consumer import ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest
from headrace.wire.messages.metadata import (
    DescribeTopicPartitionsRequest,
    MetadataRequest,
    MetadataRequestTopic,
    TopicRequest,
)
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.messages.producers import (
    DescribeProducersRequest,
    DescribeTransactionsRequest,
    ListTransactionsRequest,
)
from headrace.wire.messages.producers import TopicRequest as ProducersOf
from headrace.wire.messages.topics import CreatableTopic, CreateTopicsRequest
from headrace.wire.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    InitProducerIdRequest,
)
from headrace.wire.records import Record, build_batch

SEEN, SECRET = "seen", "secret"
NOT_ASKED_FOR = -(1 << 31)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """With topics, groups and transactions of which the first of each is called as everybody may see."""
    with guarded_broker() as broker:
        as_principals(broker, [ADMIN], make)
        until(lambda: is_prepared(broker))
        yield broker


async def make(admin: Client) -> None:
    await admin.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in (SEEN, SECRET)], 10_000))
    await admin.ask(FindCoordinatorRequest("", 0, [SEEN]))
    await admin.ask(FindCoordinatorRequest("", 1, [SEEN]))


def is_prepared(broker: Broker) -> bool:
    codes: set[int] = set()

    async def prepare(admin: Client) -> None:
        for name in (SEEN, SECRET):
            committed = [OffsetCommitRequestTopic(each, b"", [part(0, 1)]) for each in (SEEN, SECRET)]
            answered = await admin.ask(OffsetCommitRequest(name, topics=committed), 9)
            codes.update(part.error_code for topic in answered.topics for part in topic.partitions)
            begun = await admin.ask(InitProducerIdRequest(name, 60_000))
            codes.add(begun.error_code)
            both = [AddPartitionsToTxnTopic(each, [0]) for each in (SEEN, SECRET)]
            added = AddPartitionsToTxnRequest([], name, begun.producer_id, begun.producer_epoch, both)
            results = (await admin.ask(added, 3)).results_by_topic_v3_and_below
            codes.update(part.partition_error_code for topic in results for part in topic.results_by_partition)

    as_principals(broker, [ADMIN], prepare)
    return codes == {0}


def part(index: int, offset: int) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(index, offset)


def shows(response: Any, version: int) -> bool:
    return SECRET.encode() in b"".join(map(bytes, encode(response, version)))


LISTS = [
    (MetadataRequest(None), range(1, 14)),
    (MetadataRequest([]), range(1)),
    (DescribeTopicPartitionsRequest(), range(1)),
    (ListGroupsRequest(), range(6)),
    (ListTransactionsRequest(), range(3)),
    (DescribeTransactionsRequest([SEEN]), range(1)),
    (OffsetFetchRequest(SEEN, None), range(2, 8)),
    (OffsetFetchRequest(groups=[OffsetFetchRequestGroup(SEEN, topics=None)]), range(8, 10)),
    (DescribeLogDirsRequest(None), range(1, 6)),
]


@pytest.mark.parametrize(("request_", "versions"), LISTS, ids=[type(each).__name__ for each, _ in LISTS])
def test_lists_leave_out_what_one_may_not_know_of(broker: Broker, request_: Any, versions: range) -> None:
    async def work(admin: Client, reader: Client, nobody: Client) -> None:
        await admin.granted(*(rule("User:reader", kind, Operation.DESCRIBE, SEEN) for kind in (TOPIC, GROUP, TXN)))
        for version in versions:
            assert shows(await admin.ask(request_, version), version), "or the test tests nothing"
            answered = await reader.ask(request_, version)
            assert not shows(answered, version), (version, answered)
            if not isinstance(request_, DescribeLogDirsRequest):
                assert SEEN.encode() in b"".join(map(bytes, encode(answered, version)))
                assert denials_in(answered) == set()
            answered = await nobody.ask(request_, version)
            assert not shows(answered, version)

    as_principals(broker, [ADMIN, "User:reader", "User:nobody"], work)


def test_names_that_are_asked_for_among_all_keep_their_place_in_pages(broker: Broker) -> None:
    async def work(admin: Client, reader: Client) -> None:
        await admin.granted(rule("User:pager", TOPIC, Operation.DESCRIBE, SEEN))
        asked = DescribeTopicPartitionsRequest([TopicRequest(SECRET), TopicRequest(SEEN)])
        found = {topic.name: topic for topic in (await reader.ask(asked)).topics}
        assert found[SECRET].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert (found[SECRET].topic_id, found[SECRET].partitions) == (bytes(16), [])
        assert found[SEEN].error_code == 0 and found[SEEN].partitions

    as_principals(broker, [ADMIN, "User:pager"], work)


def test_a_name_that_no_topic_can_have_is_told_before_rights_are_asked(broker: Broker) -> None:
    async def work(nobody: Client) -> None:
        asked = DescribeProducersRequest([ProducersOf("no/name", [0]), ProducersOf(SECRET, [0])])
        found = {topic.name: topic.partitions[0].error_code for topic in (await nobody.ask(asked)).topics}
        assert found == {
            "no/name": ErrorCode.INVALID_TOPIC_EXCEPTION,
            SECRET: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        }

    as_principals(broker, ["User:nobody"], work)


# -- what is made, and what is written ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "name"), [(TOPIC, "made-by-topic"), (CLUSTER, "kafka-cluster")])
def test_a_topic_is_made_on_mention_by_who_may_create_it(broker: Broker, kind: ResourceType, name: str) -> None:
    wanted = MetadataRequest([MetadataRequestTopic(name=f"made-by-{kind.name.lower()}")])
    maker = f"User:maker-{kind.name}"

    async def work(admin: Client, maker_: Client) -> None:
        await admin.granted(rule(maker, TOPIC, Operation.DESCRIBE, "made-by-", prefixed=True))
        (refused,) = (await maker_.ask(wanted)).topics
        assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        asked = MetadataRequest(wanted.topics, False)
        assert (await admin.ask(asked)).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        await admin.granted(rule(maker, kind, Operation.CREATE, name))
        assert (await maker_.ask(wanted)).topics[0].error_code == 0

    as_principals(broker, [ADMIN, maker], work)


def produced(acks: int, *names: str, transactional: bool = False) -> ProduceRequest:
    producer = {"producer_id": 1, "producer_epoch": 0, "transactional": True} if transactional else {}
    batch = build_batch([Record(value=b"v")], **producer)  # type: ignore[arg-type]
    topics = [TopicProduceData(name, partition_data=[PartitionProduceData(0, memoryview(batch))]) for name in names]
    return ProduceRequest(None, acks, 1000, topics)


def test_a_produce_is_taken_for_the_topics_that_one_may_write(broker: Broker) -> None:
    async def work(admin: Client, writer: Client) -> None:
        await admin.granted(rule("User:writer", TOPIC, Operation.WRITE, SEEN))
        for version in range(3, 13):
            answered = await writer.ask(produced(1, SECRET, SEEN), version)
            codes = {topic.name: topic.partition_responses[0].error_code for topic in answered.responses}
            assert codes == {SEEN: 0, SECRET: ErrorCode.TOPIC_AUTHORIZATION_FAILED}

    as_principals(broker, [ADMIN, "User:writer"], work)


@pytest.mark.parametrize("names", [(SECRET,), (SEEN, SECRET)])
def test_a_produce_without_acks_that_is_refused_ends_the_connection(broker: Broker, names: tuple[str, ...]) -> None:
    async def work(admin: Client, writer: Client) -> None:
        await admin.granted(rule("User:hasty", TOPIC, Operation.WRITE, SEEN))
        with pytest.raises(Disconnected):
            await writer.ask(produced(0, *names), 9)

    as_principals(broker, [ADMIN, "User:hasty"], work)


def test_a_batch_of_a_transaction_needs_an_id_whatever_the_request_says(broker: Broker) -> None:
    async def work(admin: Client, writer: Client) -> None:
        await admin.granted(
            rule("User:crafty", TOPIC, Operation.WRITE, SEEN), rule("User:crafty", TXN, Operation.ALL, "*")
        )
        answered = await writer.ask(produced(1, SEEN, transactional=True), 9)
        assert denials_in(answered) == {ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED}

    as_principals(broker, [ADMIN, "User:crafty"], work)


def test_internal_topics_are_added_to_no_transaction(broker: Broker) -> None:
    async def work(admin: Client, writer: Client) -> None:
        await admin.granted(rule("User:inner", TOPIC, Operation.ALL, "*"), rule("User:inner", TXN, Operation.ALL, "*"))
        wanted = [AddPartitionsToTxnTopic("__consumer_offsets", [0]), AddPartitionsToTxnTopic(SEEN, [0, 7])]
        answered = await writer.ask(AddPartitionsToTxnRequest([], "t", 1, 0, wanted), 3)
        codes = {
            (topic.name, each.partition_index): each.partition_error_code
            for topic in answered.results_by_topic_v3_and_below
            for each in topic.results_by_partition
        }
        assert codes == {
            ("__consumer_offsets", 0): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            (SEEN, 0): ErrorCode.OPERATION_NOT_ATTEMPTED,
            (SEEN, 7): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }

    as_principals(broker, [ADMIN, "User:inner"], work)


def test_settings_of_a_new_topic_are_shown_to_who_may_describe_them(broker: Broker) -> None:
    async def work(admin: Client, maker: Client) -> None:
        await admin.granted(rule("User:creator", TOPIC, Operation.CREATE, "new"))
        wanted = CreateTopicsRequest([CreatableTopic("new", 1, 1)], 1000, True)
        (hidden,) = (await maker.ask(wanted)).topics
        assert (hidden.error_code, hidden.configs) == (0, [])
        assert hidden.topic_config_error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert (hidden.num_partitions, hidden.replication_factor) == (-1, -1)
        await admin.granted(rule("User:creator", TOPIC, Operation.DESCRIBE_CONFIGS, "new"))
        (told,) = (await maker.ask(wanted)).topics
        assert told.configs and not told.topic_config_error_code

    as_principals(broker, [ADMIN, "User:creator"], work)


# -- rules that change -------------------------------------------------------------------------------------------------


def fetched(session_id: int = 0, epoch: int = 0, *names: str, max_wait_ms: int = 0) -> FetchRequest:
    topics = [FetchTopic(name, partitions=[FetchPartition(0, partition_max_bytes=1 << 20)]) for name in names]
    return FetchRequest(max_wait_ms=max_wait_ms, session_id=session_id, session_epoch=epoch, topics=topics)


def test_a_live_session_goes_by_new_rules(broker: Broker) -> None:
    async def work(admin: Client, reader: Client) -> None:
        await admin.ask(produced(1, SECRET), 9)
        await admin.granted(rule("User:follower", TOPIC, Operation.READ, SECRET))
        begun = await reader.ask(fetched(0, 0, SECRET), 12)
        assert denials_in(begun) == set() and begun.session_id
        await admin.granted(rule("User:follower", TOPIC, Operation.READ, SECRET, permission=Permission.DENY))
        denied = await reader.ask(fetched(begun.session_id, 1), 12)
        assert denials_in(denied) == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
        assert all(not part.records for topic in denied.responses for part in topic.partitions)
        gone = DeleteAclsFilter(TOPIC, SECRET, 3, "User:follower", None, 1, Permission.DENY)
        (result,) = (await admin.ask(DeleteAclsRequest([gone]))).filter_results
        assert len(result.matching_acls) == 1
        again = await reader.ask(fetched(begun.session_id, 2), 12)
        assert denials_in(again) == set() and again.responses[0].partitions[0].records

    as_principals(broker, [ADMIN, "User:follower"], work)


def test_nobody_goes_on_with_the_session_of_another(broker: Broker) -> None:
    async def work(admin: Client, reader: Client, thief: Client) -> None:
        await admin.granted(rule("User:owner", TOPIC, Operation.READ, SECRET))
        begun = await reader.ask(fetched(0, 0, SECRET), 12)
        stolen = await thief.ask(fetched(begun.session_id, 1), 12)
        assert stolen.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND and not shows(stolen, 12)
        # Nor ends it.
        await thief.ask(fetched(begun.session_id, -1), 12)
        assert (await reader.ask(fetched(begun.session_id, 1), 12)).error_code == 0

    as_principals(broker, [ADMIN, "User:owner", "User:thief"], work)


# -- what is allowed, told ---------------------------------------------------------------------------------------------


def test_authorized_operations(broker: Broker) -> None:
    async def work(admin: Client, reader: Client) -> None:
        await admin.granted(
            rule("User:asker", TOPIC, Operation.READ, SEEN), rule("User:asker", GROUP, Operation.READ, SEEN)
        )
        read = 1 << Operation.READ | 1 << Operation.DESCRIBE
        topic = [MetadataRequestTopic(name=SEEN)]
        for client, of_topic, of_group, of_cluster in (
            (reader, read, read, 0),
            (admin, bits(TOPIC), bits(GROUP), bits(CLUSTER)),
        ):
            told = await client.ask(MetadataRequest(topic, False, True, True), 10)
            assert (told.topics[0].topic_authorized_operations, told.cluster_authorized_operations) == (
                of_topic,
                of_cluster,
            )
            untold = await client.ask(MetadataRequest(topic, False), 10)
            assert {untold.topics[0].topic_authorized_operations, untold.cluster_authorized_operations} == {
                NOT_ASKED_FOR
            }
            cluster = await client.ask(DescribeClusterRequest(True))
            assert cluster.cluster_authorized_operations == of_cluster
            assert (await client.ask(DescribeClusterRequest())).cluster_authorized_operations == NOT_ASKED_FOR
            (described,) = (await client.ask(DescribeTopicPartitionsRequest([TopicRequest(SEEN)]))).topics
            assert described.topic_authorized_operations == of_topic
            (group,) = (await client.ask(DescribeGroupsRequest([SEEN], True))).groups
            assert group.authorized_operations == of_group
            (group,) = (await client.ask(DescribeGroupsRequest([SEEN]))).groups
            assert group.authorized_operations == NOT_ASKED_FOR

    as_principals(broker, [ADMIN, "User:asker"], work)


def test_members_of_a_group_are_shown_to_who_may_know_all_their_topics(broker: Broker) -> None:
    async def work(admin: Client, watcher: Client) -> None:
        joined = ConsumerGroupHeartbeatRequest(
            "next", "m", 0, rebalance_timeout_ms=1000, subscribed_topic_names=[SEEN, SECRET], topic_partitions=[]
        )
        assert (await admin.ask(joined)).error_code == 0
        await admin.granted(
            rule("User:watcher", GROUP, Operation.DESCRIBE, "next"), rule("User:watcher", TOPIC, Operation.READ, SEEN)
        )
        (hidden,) = (await watcher.ask(ConsumerGroupDescribeRequest(["next"], True))).groups
        assert (hidden.error_code, hidden.members) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [])
        assert not shows(await watcher.ask(ConsumerGroupDescribeRequest(["next"])), 1)
        await admin.granted(rule("User:watcher", TOPIC, Operation.DESCRIBE, SECRET))
        (shown,) = (await watcher.ask(ConsumerGroupDescribeRequest(["next"], True))).groups
        assert shown.error_code == 0 and len(shown.members) == 1
        assert shown.authorized_operations == 1 << Operation.DESCRIBE

    as_principals(broker, [ADMIN, "User:watcher"], work)


def test_an_expression_assigns_no_topic_that_one_may_not_know_of(broker: Broker) -> None:
    def beat(epoch: int, **fields: Any) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest("curious", "m", epoch, **fields)

    async def work(admin: Client, curious: Client) -> None:
        made = await admin.ask(CreateTopicsRequest([CreatableTopic(name, 1, 1) for name in ("rx-a", "rx-b")], 10_000))
        ids = {topic.name: topic.topic_id for topic in made.topics}
        await admin.granted(
            rule("User:curious", GROUP, Operation.READ, "curious"), rule("User:curious", TOPIC, Operation.READ, "rx-a")
        )
        joined = await curious.ask(
            beat(0, rebalance_timeout_ms=1000, subscribed_topic_regex="rx-.*", topic_partitions=[])
        )
        assert [topic.topic_id for topic in joined.assignment.topic_partitions] == [ids["rx-a"]]
        await admin.granted(rule("User:curious", TOPIC, Operation.DESCRIBE, "rx-b"))
        owned = joined.assignment.topic_partitions
        told, epoch = owned, joined.member_epoch

        async def assigned() -> set[bytes]:
            nonlocal told, epoch
            answered = await curious.ask(beat(epoch, topic_partitions=told))
            epoch = answered.member_epoch
            if answered.assignment is not None:
                told = answered.assignment.topic_partitions
            return {topic.topic_id for topic in told}

        async with asyncio.timeout(SECONDS_MAX):
            while await assigned() != set(ids.values()):
                pass

    as_principals(broker, [ADMIN, "User:curious"], work)


def test_many_rules_are_made_and_deleted_by_one_request(broker: Broker) -> None:
    """More than fit into a commit; and no more than a request may have."""
    many = [rule("User:many", TOPIC, Operation.READ, f"many-{number}") for number in range(250)]
    all_of_them = DeleteAclsFilter(1, None, 1, "User:many", None, 1, 1)

    async def work(admin: Client, many_: Client) -> None:
        await admin.granted(*many)
        asked = FetchRequest(topics=[FetchTopic("many-249", partitions=[FetchPartition(0, partition_max_bytes=1)])])
        assert denials_in(await many_.ask(asked, 12)) == set()
        (deleted,) = (await admin.ask(DeleteAclsRequest([all_of_them]))).filter_results
        assert len(deleted.matching_acls) == len(many)
        assert denials_in(await many_.ask(asked, 12)) == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
        too_many = CreateAclsRequest([rule("User:many", TOPIC, Operation.READ, f"m{n}") for n in range(10_001)])
        codes = {result.error_code for result in (await admin.ask(too_many)).results}
        assert codes == {ErrorCode.POLICY_VIOLATION}
        (none,) = (await admin.ask(DeleteAclsRequest([all_of_them]))).filter_results
        assert none.matching_acls == []

    as_principals(broker, [ADMIN, "User:many"], work)
