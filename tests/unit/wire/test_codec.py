"""What the codec promises beyond agreeing with kio: bounds, refusals, tolerance, and records that are not copied."""

import random
import struct

import pytest

from fuzz.fuzz_wire import EVERY_VERSION, sample
from headrace.base.errors import PeerError
from headrace.wire.codec import decode, encode, encoded, size_of
from headrace.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse, FinalizedFeatureKey
from headrace.wire.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
    ReplicaState,
)
from headrace.wire.messages.groups_classic import HeartbeatRequest, JoinGroupRequest
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from headrace.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from headrace.wire.primitives import read_uvarint, uvarint
from headrace.wire.schema import Message, int32, string

FLEXIBLE = [(cls, version) for cls, version in EVERY_VERSION if version >= cls.FLEXIBLE]


def produce_request(records):
    partition = PartitionProduceData(index=7, records=records)
    return ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=[partition])])


class FileRange:
    """Stands for bytes that the broker sends from a file."""

    def __init__(self, size):
        self.size = size

    def __len__(self):
        return self.size


def test_every_message_is_refused_when_cut_at_any_byte():
    rng = random.Random(1)
    for cls, version in EVERY_VERSION:
        data = encoded(sample(cls, version, rng, items_max=1), version)
        for end in range(len(data)):
            with pytest.raises(PeerError):
                decode(cls, version, data[:end])


def test_trailing_bytes_are_ignored():
    rng = random.Random(2)
    for cls, version in EVERY_VERSION:
        data = encoded(sample(cls, version, rng), version)
        assert decode(cls, version, data + b"\0\0\0trailing") == decode(cls, version, data)


def test_decoding_starts_where_it_is_told():
    data = encoded(HeartbeatRequest(group_id="g", member_id="m"), 4)
    assert decode(HeartbeatRequest, 4, b"header" + data, 6) == decode(HeartbeatRequest, 4, data)


@pytest.mark.parametrize("make", [bytes, bytearray, memoryview])
def test_any_kind_of_buffer_will_do(make):
    request = HeartbeatRequest(group_id="g", generation_id=3, member_id="m")
    assert decode(HeartbeatRequest, 4, make(encoded(request, 4))) == request


def test_unknown_tags_are_skipped():
    two_tags = b"\x02" + b"\x59\x03abc" + b"\xda\x00\x00"
    for cls, version in FLEXIBLE:
        data = encoded(cls(), version)
        assert data.endswith(b"\0")
        assert decode(cls, version, data[:-1] + two_tags) == decode(cls, version, data), (cls, version)


def test_unknown_tags_of_nested_structs_are_skipped():
    body = b"\x02" + b"\x02t" + b"\x02" + struct.pack(">i", 7) + b"\x03ab"
    data = b"\x00" + struct.pack(">hi", 1, 9) + body + b"\x01\x05\x01z" + b"\x01\x06\x00" + b"\x00"
    request = decode(ProduceRequest, 9, data)
    assert request.topic_data[0].partition_data[0].records == b"ab"


def test_many_unknown_tags_need_a_long_count():
    tags = b"\x80\x01" + b"".join(bytes([100]) + b"\x00" for _ in range(128))
    data = encoded(HeartbeatRequest(), 4)[:-1]
    assert decode(HeartbeatRequest, 4, data + tags) == HeartbeatRequest()
    with pytest.raises(PeerError):
        decode(HeartbeatRequest, 4, data + tags[:-1])


def test_the_last_of_duplicate_tags_wins_and_order_does_not_matter():
    data = encoded(FetchRequest(), 15)[:-1]
    unknown = b"\x63\x03\x00\x02\x02"
    tags = [b"\x01\x0d" + struct.pack(">iqB", 5, 6, 0), b"\x00\x02\x02a", unknown, b"\x00\x02\x02b"]
    request = decode(FetchRequest, 15, data + b"\x04" + b"".join(tags))
    assert request.cluster_id == "b"
    assert request.replica_state == ReplicaState(replica_id=5, replica_epoch=6)


def test_tagged_fields_are_left_out_at_their_default_and_none_stands_for_it():
    plain = encoded(FetchRequest(), 15)
    assert encoded(FetchRequest(replica_state=ReplicaState()), 15) == plain
    assert decode(FetchRequest, 15, plain).replica_state is None
    follower = FetchPartition(high_watermark=2**63 - 1)
    request = FetchRequest(topics=[FetchTopic(partitions=[follower])])
    assert encoded(request, 18) == encoded(request, 16)
    follower.high_watermark = 5
    assert encoded(request, 18) != encoded(request, 16)


def test_tags_are_written_in_their_order():
    response = ApiVersionsResponse(
        zk_migration_ready=True, finalized_features_epoch=8, finalized_features=[FinalizedFeatureKey(name="f")]
    )
    data = encoded(response, 3)
    assert (
        data.index(b"\x01\x08" + struct.pack(">q", 8)) < data.index(b"\x02\x08\x02\x02f") < data.index(b"\x03\x01\x01")
    )
    assert decode(ApiVersionsResponse, 3, data) == response


@pytest.mark.parametrize(
    ("cls", "version", "data"),
    [
        pytest.param(MetadataRequest, 1, b"\x7f\xff\xff\xff", id="huge count"),
        pytest.param(MetadataRequest, 1, b"\x00\x00\x00\x03" + b"\x00\x00" * 2, id="count above the bytes left"),
        pytest.param(MetadataRequest, 1, b"\xff\xff\xff\xfe", id="count -2"),
        pytest.param(MetadataRequest, 0, b"\xff\xff\xff\xff", id="null array before it may be null"),
        pytest.param(MetadataRequest, 9, b"\xff\xff\xff\xff\x0f\x00\x00\x00\x00", id="huge compact count"),
        pytest.param(MetadataRequest, 9, b"\xff\xff\xff\xff\xff\x0f" + bytes(9), id="varint of 6 bytes"),
        pytest.param(HeartbeatRequest, 0, b"\xff\xff" + bytes(20), id="null string"),
        pytest.param(HeartbeatRequest, 0, b"\xff\xfe" + bytes(20), id="string of length -2"),
        pytest.param(HeartbeatRequest, 3, b"\0\0" + bytes(4) + b"\0\0\xff\xfe", id="nullable string of length -2"),
        pytest.param(HeartbeatRequest, 0, b"\x7f\xff" + bytes(20), id="string past the end"),
        pytest.param(HeartbeatRequest, 4, b"\x00" + bytes(20), id="null compact string"),
        pytest.param(HeartbeatRequest, 4, b"\x02\xff" + bytes(20), id="not UTF-8"),
        pytest.param(JoinGroupRequest, 0, b"\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\xff\xff\xff\xff", id="null bytes"),
        pytest.param(HeartbeatRequest, 4, b"\x01" + bytes(4) + b"\x01\x00\x01\x63\x7f", id="tag past the end"),
        pytest.param(HeartbeatRequest, 9, bytes(20), id="a version that does not exist"),
        pytest.param(HeartbeatRequest, 4, b"", id="nothing"),
    ],
)
def test_malformed_bytes_are_the_peers_fault(cls, version, data):
    with pytest.raises(PeerError):
        decode(cls, version, data)


@pytest.mark.parametrize("data", [b"\x7f\xff\xff\xff", b"\x00\x00\x00\x03" + b"\x00\x00" * 2])
def test_a_count_is_checked_before_anything_is_read(data):
    with pytest.raises(PeerError, match="topics counts more elements than its bytes can hold"):
        decode(MetadataRequest, 1, data)


def test_a_varint_ends_after_five_bytes():
    with pytest.raises(PeerError, match="longer than 5 bytes"):
        decode(MetadataRequest, 9, b"\x80\x80\x80\x80\x80\x00" + bytes(9))


@pytest.mark.parametrize("value", [0, 127, 128, 300, 2**14 - 1, 2**14, 2**21 - 1, 2**21, 2**28 - 1, 2**28, 2**32 - 1])
def test_uvarints(value):
    data = uvarint(value)
    assert read_uvarint(b"x" + data + b"\x7f", 1) == (value, 1 + len(data))


def test_records_are_a_slice_of_the_callers_buffer():
    frame = bytearray(encoded(produce_request(memoryview(b"batch")), 9))
    request = decode(ProduceRequest, 9, memoryview(frame))
    records = request.topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    frame[frame.index(b"batch")] = ord("B")
    assert records == b"Batch"


def test_null_and_empty_records_differ():
    def records_after(value):
        data = {version: encoded(produce_request(value), version) for version in (8, 9)}
        requests = [decode(ProduceRequest, version, data[version]) for version in data]
        return [request.topic_data[0].partition_data[0].records for request in requests]

    assert records_after(None) == [None, None]
    assert records_after(b"") == [b"", b""]


@pytest.mark.parametrize("version", [4, 11, 12, 16])
def test_whatever_is_in_a_records_field_becomes_a_chunk_of_its_own(version):
    first, last = FileRange(1000), FileRange(2000)
    partitions = [PartitionData(records=first), PartitionData(records=b""), PartitionData(records=last)]
    response = FetchResponse(responses=[FetchableTopicResponse(partitions=partitions)])
    chunks = encode(response, version)
    assert [type(chunk) for chunk in chunks[:4]] == [bytes, FileRange, bytes, FileRange]
    assert (chunks[1], chunks[3]) == (first, last)
    assert len(chunks) == (5 if version >= 12 else 4)
    filled = b"".join(bytes(len(chunk)) if isinstance(chunk, FileRange) else chunk for chunk in chunks)
    assert size_of(chunks) == len(filled)
    decoded = decode(FetchResponse, version, filled).responses[0].partitions
    assert [len(partition.records) for partition in decoded] == [1000, 0, 2000]


def test_fields_that_a_version_lacks_are_left_out_and_come_back_as_defaults():
    request = MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=b"i" * 16, name="t")], allow_auto_topic_creation=False
    )
    assert decode(MetadataRequest, 3, encoded(request, 3)) == MetadataRequest(topics=[MetadataRequestTopic(name="t")])


@pytest.mark.parametrize(
    ("message", "version"),
    [
        pytest.param(HeartbeatRequest(group_id=None), 4, id="null string"),
        pytest.param(MetadataRequest(topics=None), 0, id="null array"),
        pytest.param(HeartbeatRequest(generation_id=2**31), 4, id="number out of range"),
        pytest.param(HeartbeatRequest(group_id="x" * 40000), 0, id="string too long for its length"),
        pytest.param(HeartbeatRequest(), 9, id="no such version"),
    ],
)
def test_what_cannot_be_encoded_is_a_value_error(message, version):
    with pytest.raises(ValueError, match=type(message).__name__):
        encode(message, version)


def test_defaults_are_not_shared_between_instances():
    ProduceRequest().topic_data.append(TopicProduceData())
    assert ProduceRequest().topic_data == []
    assert decode(ApiVersionsRequest, 0, b"") == ApiVersionsRequest()


def test_nothing_is_compiled_before_its_first_use():
    class Ping(Message, versions="0-2", flexible=1):
        number: int = int32()
        text: str = string(versions="1+")

    assert Ping.DECODERS == Ping.ENCODERS == {}
    assert decode(Ping, 1, encoded(Ping(number=5, text="hi"), 1)) == Ping(5, "hi")
    assert set(Ping.DECODERS) == set(Ping.ENCODERS) == {1}


def test_messages_compare_and_print_by_value():
    epoch = EpochEndOffset(epoch=3, end_offset=9)
    assert epoch == EpochEndOffset(3, 9)
    assert epoch != EpochEndOffset(3, 8)
    assert repr(epoch) == "EpochEndOffset(epoch=3, end_offset=9)"
    with pytest.raises(AttributeError):
        epoch.typo = 1
