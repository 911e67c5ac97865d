"""A coordinator on virtual time: every record goes through its bytes, every ticket is answered at most once.

It stands where the shell stands: appends, applies, keeps timers, and holds replies back until the append is committed.
"""

from typing import NamedTuple

from headrace.base.clock import Now
from headrace.groups.coordinator import Groups
from headrace.groups.outcome import Command, GroupOutcome
from headrace.groups.records import decode, encode
from headrace.groups.settings import GroupSettings
from headrace.groups.topics import Topics, all_in_sight
from headrace.wire.codec import decode as decode_message
from headrace.wire.codec import encoded
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from headrace.wire.schema import RESPONSES

WALL = 1_700_000_000_000
GROUP = "g"


class FakeTopic(NamedTuple):
    id: bytes
    partitions: range


def topic_id(name, life=0):
    return f"{name}-{life}".encode().ljust(16, b".")[-16:]


class Desk:
    def __init__(self, **settings):
        self.settings = GroupSettings(**settings)
        self.mono = 100.0
        self.log = []
        self.batch_ends = []
        self.high_watermark = 0
        self.tickets = 0
        self.versions = {}
        self.answers = {}
        self.held = []
        self.commits_at_once = True
        self.groups = Groups(self.settings)
        self.sight = all_in_sight
        self.timers = {}
        self.topics = {}
        self.set_topic("t", 6)

    @property
    def now(self):
        return Now(self.mono, WALL + int((self.mono - 100) * 1000))

    # -- the shell's part --------------------------------------------------------------------------------------------

    def ask(self, request, version, client_id="c"):
        self.tickets += 1
        self.versions[self.tickets] = request.API_KEY, version
        fresh = f"{client_id}-{self.tickets}"
        command = Command(self.tickets, request, version, client_id, "/127.0.0.1", fresh, self.sight)
        self.decide(lambda: self.groups.handle(command, self.now))
        return self.tickets

    def decide(self, decision):
        """Nothing is applied before it is appended, whatever is decided."""
        before = stored(self.groups)
        outcome = decision()
        assert stored(self.groups) == before
        self.run(outcome)

    def run(self, outcome: GroupOutcome):
        for record in outcome.records:
            self.log.append(encode(record))
            stored = decode(*self.log[-1])
            assert stored == record
            self.groups.apply(stored)
        if outcome.records:
            self.batch_ends.append(len(self.log))
        for key, at in outcome.timers:
            self.timers.pop(key, None)
            if at is not None:
                self.timers[key] = at
        self.held += [(len(self.log), reply) for reply in outcome.replies]
        if self.commits_at_once:
            self.commit()

    def commit(self, end=None):
        self.high_watermark = len(self.log) if end is None else end
        ready = [reply for needs, reply in self.held if needs <= self.high_watermark]
        self.held = [(needs, reply) for needs, reply in self.held if needs > self.high_watermark]
        for reply in ready:
            assert reply.ticket not in self.answers, f"ticket {reply.ticket} answered twice"
            key, version = self.versions[reply.ticket]
            assert type(reply.response) is RESPONSES[key]
            self.answers[reply.ticket] = decode_message(RESPONSES[key], version, encoded(reply.response, version))

    def pass_time(self, seconds):
        end = self.mono + seconds
        while self.timers:
            key, at = min(self.timers.items(), key=lambda item: item[1])
            if at > end:
                break
            del self.timers[key]
            self.mono = max(self.mono, at)
            self.decide(lambda key=key: self.groups.on_timer(key, self.now))
        self.mono = end

    def reload(self):
        """Another broker takes over: what was not committed may be gone, and whoever waits has lost its connection."""
        self.groups = Groups(self.settings)
        self.groups.on_topics(Topics(self.topics, {topic.id: name for name, topic in self.topics.items()}))
        self.timers = {}
        self.held = []
        for key, value in self.log:
            self.groups.apply(decode(key, value))
        self.decide(lambda: self.groups.on_loaded(self.now))

    def set_topic(self, name, count, life=0):
        """So many partitions; none at all deletes it."""
        self.topics = {each: topic for each, topic in self.topics.items() if each != name}
        if count:
            self.topics[name] = FakeTopic(topic_id(name, life), range(count))
        self.groups.on_topics(Topics(self.topics, {topic.id: name for name, topic in self.topics.items()}))

    # -- short forms -------------------------------------------------------------------------------------------------

    def join(self, member_id="", instance_id=None, version=9, client_id="c", **fields):
        return self.ask(join_request(member_id, instance_id, **fields), version, client_id)

    def new_member(self, version=9, **fields):
        """A dynamic member's two steps: its id and the ticket it waits with."""
        first = self.answer(self.join(version=version, **fields))
        assert first.error_code == 79
        return first.member_id, self.join(first.member_id, version=version, **fields)

    def sync(self, member_id, generation, shares=None, instance_id=None, version=5, **fields):
        assignments = [SyncGroupRequestAssignment(*share) for share in (shares or {}).items()]
        request = SyncGroupRequest(GROUP, generation, member_id, instance_id, assignments=assignments, **fields)
        return self.ask(request, version)

    def heartbeat(self, member_id, generation, instance_id=None):
        request = HeartbeatRequest(GROUP, generation, member_id, instance_id)
        return self.answer(self.ask(request, 4)).error_code

    def leave(self, *identities, version=5):
        members = [MemberIdentity(*identity) for identity in identities]
        return self.answer(self.ask(LeaveGroupRequest(GROUP, members=members), version))

    def commit_offset(self, offset, member_id="", generation=-1, version=9, topic="t", partition=0, **fields):
        metadata = fields.pop("metadata", "")
        part = OffsetCommitRequestPartition(partition, offset, 3, metadata)
        topics = [OffsetCommitRequestTopic(topic, fields.pop("topic_id", bytes(16)), [part])]
        request = OffsetCommitRequest(fields.pop("group", GROUP), generation, member_id, topics=topics, **fields)
        answer = self.answer(self.ask(request, version))
        return answer.topics[0].partitions[0].error_code

    def offset(self, topic="t", partition=0):
        request = OffsetFetchRequest(GROUP, [OffsetFetchRequestTopic(topic, [partition])])
        return self.answer(self.ask(request, 7)).topics[0].partitions[0].committed_offset

    def answer(self, ticket):
        return self.answers[ticket]

    def is_parked(self, ticket):
        return ticket not in self.answers

    @property
    def group(self):
        return self.groups.table.groups[GROUP].classic

    @property
    def consumer(self):
        return self.groups.table.groups[GROUP].consumer

    # -- ready-made groups -------------------------------------------------------------------------------------------

    def stable(self, count=2, instance_ids=None, **fields):
        """A stable group; its members' ids, the leader first, and its generation."""
        if instance_ids is None:
            joined = [self.new_member(**fields) for _ in range(count)]
            tickets = [ticket for _, ticket in joined]
        else:
            tickets = [self.join(instance_id=each, **fields) for each in instance_ids]
        self.pass_time(self.settings.group_initial_rebalance_delay_ms / 1000 * 2)
        answers = [self.answer(ticket) for ticket in tickets]
        leader = next(answer for answer in answers if answer.members)
        ids = sorted((answer.member_id for answer in answers), key=lambda each: each != leader.leader)
        self.sync_all(ids, leader.generation_id)
        return ids, leader.generation_id

    def sync_all(self, ids, generation):
        shares = {each: f"share of {each}".encode() for each in ids}
        tickets = [self.sync(each, generation, shares if each == self.group.leader else None) for each in ids]
        assert all(self.answer(ticket).error_code == 0 for ticket in tickets)


def stored(groups):
    """All that survives of the groups that there are."""
    kept = {name: [*_of_consumer(each), *_of_others(each)] for name, each in groups.table.groups.items()}
    return {name: each for name, each in kept.items() if any(each)}


def _of_consumer(group):
    of = group.consumer
    if of is None:
        return []
    return [of.stored, dict(of.members), of.target_epoch, dict(of.target), dict(of.current), dict(of.owners)]


def _of_others(group):
    offsets = {topic: dict(partitions) for topic, partitions in group.offsets.topics.items()}
    return [group.classic.stored, offsets]


def subscription(*topics):
    parts = [len(topic).to_bytes(2, "big") + topic.encode() for topic in topics]
    return b"\x00\x01" + len(topics).to_bytes(4, "big") + b"".join(parts) + b"\xff\xff\xff\xff"


def protocols(**metadata):
    return [JoinGroupRequestProtocol(name, value) for name, value in metadata.items()]


def join_request(member_id="", instance_id=None, **fields):
    fields = {
        "group_id": GROUP,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "protocol_type": "consumer",
        "protocols": protocols(range=subscription("t")),
    } | fields
    return JoinGroupRequest(member_id=member_id, group_instance_id=instance_id, **fields)
