"""Fetches and look-ups that ask for what is not there: an error code for that partition, and nothing else."""

import pytest

from clients.raw import RawClient
from clients.raw_records import fetch, fetch_request, good_batch, produce
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.offsets import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)

INT32_MAX, INT64_MAX = (1 << 31) - 1, (1 << 63) - 1


@pytest.fixture
def written(client: RawClient, topic: str) -> str:
    """A topic whose first partition holds offsets 2 to 4: 0 and 1 were deleted."""
    assert produce(client, topic, good_batch(b"0", b"1")).error_code == 0
    assert produce(client, topic, good_batch(b"2", b"3", b"4")).error_code == 0
    deleted = DeleteRecordsTopic(topic, [DeleteRecordsPartition(0, 2)])
    assert client.ask(DeleteRecordsRequest([deleted], 1000), 2).topics[0].partitions[0].low_watermark == 2
    return topic


@pytest.mark.parametrize("offset", [6, INT64_MAX, 1, 0, -1, -(1 << 63)])
def test_an_offset_outside_the_log(client: RawClient, written: str, offset: int) -> None:
    assert fetch(client, written, offset).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_end_of_the_log_is_not_outside(client: RawClient, written: str) -> None:
    answer = fetch(client, written, 5)
    assert (answer.error_code, bytes(answer.records), answer.high_watermark) == (0, b"", 5)


def test_a_leader_epoch_that_is_over_or_not_yet(client: RawClient, written: str) -> None:
    described = client.ask(MetadataRequest([MetadataRequestTopic(name=written)]), 12).topics[0].partitions[0]
    epoch = described.leader_epoch
    assert fetch(client, written, 2, current_leader_epoch=epoch).error_code == 0
    assert fetch(client, written, 2, current_leader_epoch=epoch + 1).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    if epoch > 0:
        assert fetch(client, written, 2, current_leader_epoch=epoch - 1).error_code == ErrorCode.FENCED_LEADER_EPOCH
    wanted = OffsetForLeaderPartition(0, epoch + 1, epoch)
    answer = client.ask(OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic(written, [wanted])]), 4)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    wanted = ListOffsetsPartition(0, epoch + 1, -1)
    answer = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(written, [wanted])]), 7)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.parametrize("partition", [7, -1, INT32_MAX])
def test_a_partition_that_does_not_exist(client: RawClient, written: str, partition: int) -> None:
    assert fetch(client, written, partition=partition).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_id_that_does_not_exist(client: RawClient) -> None:
    topics = [FetchTopic(topic_id=b"i" * 16, partitions=[FetchPartition(0, partition_max_bytes=1000)])]
    (answer,) = client.ask(FetchRequest(topics=topics), 13).responses
    assert answer.topic_id == b"i" * 16
    assert answer.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def session_request(topic: str, session_id: int, epoch: int, **options: object) -> FetchRequest:
    request = fetch_request(topic, 2, **options)
    request.session_id, request.session_epoch = session_id, epoch
    return request


def test_sessions_that_do_not_exist(client: RawClient, written: str) -> None:
    nobodys = client.ask(session_request(written, 12345, 1), 12)
    assert (nobodys.error_code, nobodys.responses) == (ErrorCode.FETCH_SESSION_ID_NOT_FOUND, [])
    opened = client.ask(session_request(written, 0, 0), 12)
    assert opened.session_id > 0
    late = client.ask(session_request(written, opened.session_id, 7), 12)
    assert (late.error_code, late.responses) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, [])
    negative = client.ask(session_request(written, opened.session_id, -7), 12)
    assert negative.error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert client.ask(session_request(written, opened.session_id, 1), 12).error_code == 0


def test_a_session_of_names_is_none_of_ids(client: RawClient, written: str) -> None:
    opened = client.ask(session_request(written, 0, 0), 12)
    mixed = client.ask(FetchRequest(session_id=opened.session_id, session_epoch=1), 13)
    assert mixed.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_a_session_closed_twice_is_closed(client: RawClient, written: str) -> None:
    opened = client.ask(session_request(written, 0, 0), 12)
    for _ in range(2):
        closing = client.ask(FetchRequest(session_id=opened.session_id, session_epoch=-1), 12)
        assert (closing.error_code, closing.session_id) == (0, 0)
    gone = client.ask(session_request(written, opened.session_id, 1), 12)
    assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


@pytest.mark.parametrize("limit", [0, -1, 1, INT32_MAX])
def test_any_byte_limit_brings_at_least_one_batch(client: RawClient, written: str, limit: int) -> None:
    request = fetch_request(written, 2)
    request.max_bytes = request.topics[0].partitions[0].partition_max_bytes = limit
    answer = client.ask(request, 12).responses[0].partitions[0]
    assert answer.error_code == 0
    assert len(answer.records) > 61


def test_a_partition_listed_twice_is_an_invalid_request_for_the_second(client: RawClient, written: str) -> None:
    wanted = [ListOffsetsPartition(0, -1, -1), ListOffsetsPartition(0, -1, -2)]
    (answer,) = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(written, wanted)]), 7).topics
    assert [part.error_code for part in answer.partitions] == [0, ErrorCode.INVALID_REQUEST]


@pytest.mark.parametrize("timestamp", [-7, -(1 << 63)])
def test_a_special_timestamp_nobody_knows(client: RawClient, written: str, timestamp: int) -> None:
    wanted = [ListOffsetsPartition(0, -1, timestamp)]
    (answer,) = client.ask(ListOffsetsRequest(-1, 0, [ListOffsetsTopic(written, wanted)]), 7).topics
    assert answer.partitions[0].error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("offset", [6, -2, INT64_MAX])
def test_records_that_cannot_be_deleted(client: RawClient, written: str, offset: int) -> None:
    wanted = DeleteRecordsTopic(written, [DeleteRecordsPartition(0, offset)])
    (answer,) = client.ask(DeleteRecordsRequest([wanted], 1000), 2).topics
    assert answer.partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
