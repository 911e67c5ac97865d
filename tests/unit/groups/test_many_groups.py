"""Ten thousand groups in the hands of one coordinator: what loading them costs is recorded, not asserted."""

import time

from desk import FakeTopic, topic_id

from headrace.base.clock import Now
from headrace.groups.classic.members import Member, Protocol
from headrace.groups.classic.records import GroupRecord, StoredGroup
from headrace.groups.consumer.records import (
    ConsumerMember,
    Current,
    CurrentMemberRecord,
    GroupEpoch,
    GroupEpochRecord,
    MemberRecord,
    TargetEpochRecord,
    TargetMemberRecord,
)
from headrace.groups.coordinator import Groups
from headrace.groups.offsets.records import Committed, OffsetRecord
from headrace.groups.records import decode, encode
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import Topics, metadata_hash

GROUPS = 10_000
TOPIC = FakeTopic(topic_id("t"), range(4))


def classic(group_id):
    members = tuple(
        Member(f"{group_id}-{number}", None, "c", "/h", 45_000, 300_000, (Protocol("range", b"x" * 30),), b"y" * 30)
        for number in range(2)
    )
    yield GroupRecord(group_id, StoredGroup(3, "consumer", "range", members[0].member_id, members, False, 0))


def consumer(group_id):
    yield GroupEpochRecord(group_id, GroupEpoch(2, metadata_hash(["t"], {"t": TOPIC}), 0))
    yield TargetEpochRecord(group_id, 2)
    for number in range(2):
        member_id = f"{group_id}-{number}"
        parts = {(TOPIC.id, 2 * number): 1, (TOPIC.id, 2 * number + 1): 2}
        yield MemberRecord(
            group_id, member_id, ConsumerMember(member_id, None, None, "c", "/h", ("t",), "", 60_000, None)
        )
        yield TargetMemberRecord(group_id, member_id, frozenset(parts))
        yield CurrentMemberRecord(group_id, member_id, Current(2, 1, assigned=parts))


def written():
    for number in range(GROUPS):
        group_id = f"group-{number}"
        yield from (consumer if number % 2 else classic)(group_id)
        for partition in range(4):
            yield OffsetRecord(group_id, "t", partition, Committed(number, 1, "", 0))


def test_loading_ten_thousand_groups(record_property):
    log = [encode(record) for record in written()]
    groups = Groups(GroupSettings())
    groups.on_topics(Topics({"t": TOPIC}, {TOPIC.id: "t"}))
    began = time.process_time()
    for key, value in log:
        groups.apply(decode(key, value))
    outcome = groups.on_loaded(Now(1.0, 1))
    seconds = time.process_time() - began
    record_property("cpu_seconds", seconds)
    print(f"{len(log):,} records of {GROUPS:,} groups loaded in {seconds:.2f} s of CPU")
    assert len(groups.table.groups) == GROUPS
    assert outcome.records == []
    assert len(outcome.timers) == 2 * GROUPS
