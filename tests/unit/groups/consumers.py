"""Consumers as clients program them: join, sync, heartbeat, commit, and what each error code makes them do.

A consumer acts only when told to, so it can be slow, die, or come back as a zombie. What it is told it writes into a
ledger shared by all, which complains when two things that it was told cannot both be true.
"""

from desk import GROUP, join_request, protocols, subscription

from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)

PARTITIONS = range(6)
NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, ID_REQUIRED, FENCED = 16, 22, 25, 27, 79, 82


class Ledger:
    def __init__(self):
        self.owners = {}
        self.acknowledged = {}

    def on_assigned(self, generation, owner, partitions):
        for partition in partitions:
            other = self.owners.setdefault((generation, partition), owner)
            assert other == owner, f"partition {partition} of generation {generation}: {other} and {owner}"

    def on_committed(self, partition, offset):
        self.acknowledged[partition] = max(offset, self.acknowledged.get(partition, -1))


class Consumer:
    def __init__(self, desk, ledger, name, instance_id=None, version=9):
        self.desk = desk
        self.ledger = ledger
        self.name = name
        self.instance_id = instance_id
        self.version = version
        self.topics = ("t",)
        self.member_id = ""
        self.generation = -1
        self.partitions = None
        self.positions = {}
        self.turn = 0
        self.waits_for = None
        self.is_fenced = False
        # Replaced by a later process with its instance id, and still running for a while.
        self.is_zombie = False

    @property
    def is_settled(self):
        return self.partitions is not None

    def act(self):
        """One step: take an answer if there is one, or ask the next thing."""
        if self.is_fenced:
            return
        if self.waits_for is None:
            self._ask_next()
            return
        ticket, on_answer = self.waits_for
        if ticket in self.desk.lost:
            self.waits_for = None
        elif ticket in self.desk.answers:
            self.waits_for = None
            on_answer(self.desk.answers[ticket])

    def _ask_next(self):
        self.turn += 1
        if not self.is_settled:
            self._join()
        elif self.turn % 2:
            self._heartbeat()
        else:
            self.commit()

    def _ask(self, request, version, on_answer):
        self.waits_for = self.desk.ask(request, version, self.name), on_answer

    def _join(self):
        if self.is_zombie and not self.member_id:
            self.is_fenced = True
            return
        wish = protocols(sticky=subscription(*self.topics), range=subscription(*self.topics))
        request = join_request(self.member_id, self.instance_id, protocols=wish, rebalance_timeout_ms=20_000)
        self._ask(request, self.version, self._on_joined)

    def _on_joined(self, answer):
        if answer.error_code == ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error_code:
            self._on_error(answer.error_code)
        else:
            self.member_id, self.generation = answer.member_id, answer.generation_id
            shares = [] if answer.skip_assignment else _assign([each.member_id for each in answer.members])
            instance_id = self.instance_id if self.version >= 5 else None
            request = SyncGroupRequest(GROUP, self.generation, self.member_id, instance_id, assignments=shares)
            self._ask(request, min(self.version, 5), self._on_synced)

    def _on_synced(self, answer):
        if answer.error_code:
            self._on_error(answer.error_code)
            return
        self.partitions = list(answer.assignment)
        self.positions = {}
        self.ledger.on_assigned(self.generation, self.instance_id or self.member_id, self.partitions)

    def _heartbeat(self):
        request = HeartbeatRequest(GROUP, self.generation, self.member_id, self.instance_id)
        self._ask(request, 4, lambda answer: self._on_error(answer.error_code))

    def commit(self):
        """Reads on from what is committed, and commits one more."""
        if self.waits_for is None and self.partitions:
            partition = self.partitions[self.turn // 4 % len(self.partitions)]
            if partition in self.positions:
                self._commit(partition, self.positions[partition] + 1)
            else:
                least = self.ledger.acknowledged.get(partition, -1)
                request = OffsetFetchRequest(GROUP, [OffsetFetchRequestTopic("t", [partition])])
                self._ask(request, 7, lambda answer: self._on_fetched(partition, least, answer))

    def _on_fetched(self, partition, least, answer):
        offset = answer.topics[0].partitions[0].committed_offset
        assert offset >= least, f"partition {partition} went back from {least} to {offset}"
        if self.partitions and partition in self.partitions:
            self.positions[partition] = offset

    def _commit(self, partition, offset):
        part = OffsetCommitRequestPartition(partition, offset)
        topics = [OffsetCommitRequestTopic("t", partitions=[part])]
        request = OffsetCommitRequest(GROUP, self.generation, self.member_id, self.instance_id, topics=topics)
        self._ask(request, 8, lambda answer: self._on_committed(partition, offset, answer))

    def _on_committed(self, partition, offset, answer):
        code = answer.topics[0].partitions[0].error_code
        if code:
            self._on_error(code)
            return
        self.positions[partition] = offset
        self.ledger.on_committed(partition, offset)

    def leave(self):
        identity = MemberIdentity(self.member_id, self.instance_id)
        self.desk.ask(LeaveGroupRequest(GROUP, members=[identity]), 5)

    def _on_error(self, code):
        if not code:
            return
        assert code in (NOT_COORDINATOR, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING, FENCED), code
        self.partitions = None
        if code == UNKNOWN_MEMBER:
            self.member_id = ""
        self.is_fenced = code == FENCED


def _assign(member_ids):
    owned = {each: bytearray() for each in member_ids}
    if member_ids:
        for partition in PARTITIONS:
            owned[member_ids[partition % len(member_ids)]].append(partition)
    return [SyncGroupRequestAssignment(each, bytes(share)) for each, share in owned.items()]
