"""What operators see, refusals, records and the partition of a group."""

import pytest
from desk import GROUP, Desk, protocols, subscription

from headrace.base.errors import UserError
from headrace.groups.classic.members import Member, Protocol
from headrace.groups.classic.records import GroupRecord, StoredGroup
from headrace.groups.coordinator import _HANDLERS
from headrace.groups.hashing import java_hash, partition_of
from headrace.groups.offsets.records import Committed, OffsetRecord
from headrace.groups.records import decode, encode
from headrace.groups.refusals import refused
from headrace.wire.codec import encoded
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.groups_admin import DescribeGroupsRequest, ListGroupsRequest
from headrace.wire.schema import RESPONSES, Request


def described(desk, group=GROUP, version=6):
    return desk.answer(desk.ask(DescribeGroupsRequest([group]), version)).groups[0]


def listed(desk, *states, types=()):
    answer = desk.answer(desk.ask(ListGroupsRequest(list(states), list(types)), 5))
    return [(each.group_id, each.group_state, each.protocol_type, each.group_type) for each in answer.groups]


def test_describe_a_stable_group():
    desk = Desk()
    ids, _ = desk.stable(2)
    group = described(desk)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    assert [each.member_id for each in group.members] == ids
    member = group.members[0]
    assert (member.client_id, member.client_host, member.member_metadata) == ("c", "/127.0.0.1", subscription("t"))
    assert member.member_assignment == f"share of {ids[0]}".encode()


def test_describe_a_rebalancing_group_shows_no_assignment():
    desk = Desk()
    ids, _ = desk.stable(2)
    desk.join(ids[0])
    group = described(desk)
    assert (group.group_state, group.protocol_data) == ("PreparingRebalance", "")
    assert [(each.member_metadata, each.member_assignment) for each in group.members] == [(b"", b"")] * 2


def test_describe_an_unknown_group():
    assert (described(Desk(), version=5).error_code, described(Desk(), version=5).group_state) == (0, "Dead")
    assert (described(Desk()).error_code, described(Desk()).group_state) == (69, "Dead")


def test_list_groups():
    desk = Desk()
    assert listed(desk) == []
    desk.stable(1)
    desk.commit_offset(1, group="simple")
    stable, simple = (GROUP, "Stable", "consumer", "classic"), ("simple", "Empty", "", "classic")
    assert listed(desk) == [stable, simple]
    assert listed(desk, "stable") == [stable]
    assert listed(desk, "Empty", "Dead") == [simple]
    assert listed(desk, types=["Classic"]) == [stable, simple]
    assert listed(desk, types=["consumer"]) == []


@pytest.mark.parametrize("request_class", [each for each in _HANDLERS if issubclass(each, Request)])
def test_every_request_can_be_refused_in_every_version(request_class):
    for version in request_class.VERSIONS:
        response = refused(request_class(), version, ErrorCode.NOT_COORDINATOR)
        assert type(response) is RESPONSES[request_class.API_KEY]
        encoded(response, version)


def test_refusals_of_requests_with_lists():
    desk = Desk()
    code = ErrorCode.NOT_COORDINATOR
    assert refused(DescribeGroupsRequest(["a"]), 6, code).groups[0].error_code == code
    assert described(desk, "a").error_code == 69


MEMBER = Member("m", "i", "c", "/h", 10_000, 60_000, (Protocol("a", b"1"), Protocol("b", b"2")), b"share")
RECORDS = [
    OffsetRecord("g", "t", 3, Committed(5, 7, "meta", 1_700_000_000_000, 1_800_000_000_000, b"i" * 16)),
    OffsetRecord("g", "t", 3, Committed(5, -1, "", 0)),
    OffsetRecord("g", "t", 3, None),
    GroupRecord("g", StoredGroup(4, "consumer", "b", "m", (MEMBER, MEMBER._replace(instance_id=None)), True, 99)),
    GroupRecord("g", StoredGroup(4, "connect", "a", "m", (MEMBER._replace(protocols=MEMBER.protocols[:1]),), False, 9)),
    GroupRecord("g", StoredGroup(4, "consumer", None, None, (), False, 99)),
    GroupRecord("g", None),
]


@pytest.mark.parametrize("record", RECORDS)
def test_records_come_back(record):
    assert decode(*encode(record)) == record


def test_records_have_kafkas_own_layout():
    key, value = encode(OffsetRecord("g", "t", 3, Committed(5, 7, "m", 9)))
    assert key == b"\x00\x01" + b"\x00\x01g" + b"\x00\x01t" + b"\x00\x00\x00\x03"
    assert (
        value
        == b"\x00\x04" + (5).to_bytes(8, "big") + (7).to_bytes(4, "big") + b"\x02m" + (9).to_bytes(8, "big") + b"\0"
    )


def test_records_of_other_kinds_are_skipped():
    for key in (None, b"", b"\x00", b"\x00\x04\x00\x01g", b"\x00\x10anything"):
        assert decode(key, b"value") is None


def test_records_of_a_newer_format_are_refused():
    key, value = encode(RECORDS[0])
    with pytest.raises(UserError, match="format 5"):
        decode(key, b"\x00\x05" + value[2:])


def test_damaged_records_are_named():
    key, value = encode(RECORDS[3])
    with pytest.raises(UserError, match="cannot be read"):
        decode(key, value[:20])


def test_a_group_is_kept_where_kafka_keeps_it():
    assert java_hash("hello") == 99162322
    assert java_hash("polygenelubricants") == -(2**31)
    assert java_hash("𐍈") == 0xD800 * 31 + 0xDF48
    assert partition_of("hello", 50) == 22
    assert partition_of("polygenelubricants", 50) == 0
    assert java_hash("group-é-7") < 0
    assert partition_of("group-é-7", 50) == -java_hash("group-é-7") % 50
    assert partition_of("", 50) == 0


def test_all_protocols_of_a_member_survive():
    desk = Desk()
    both = protocols(range=subscription("t"), sticky=b"state")
    (one, two), generation = desk.stable(2, protocols=both)
    desk.reload()
    assert desk.answer(desk.join(two, protocols=both)).generation_id == generation
    assert desk.heartbeat(one, generation) == 0
