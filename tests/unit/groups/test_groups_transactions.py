"""Offsets inside transactions: pending until the marker, and nobody who asks for stable ones is told before."""

from headrace.base.clock import Now
from headrace.groups.commits import TransactionalCommit
from headrace.groups.coordinator import Groups
from headrace.groups.outcome import Command, GroupOutcome
from headrace.groups.settings import GroupSettings
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from headrace.wire.messages.groups_classic import JoinGroupRequest, JoinGroupRequestProtocol

NOW = Now(1000.0, 1_000_000)
GROUP, TOPIC = "billing", "orders"
PRODUCER = (7, 0)


class Bench:
    def __init__(self) -> None:
        self.groups = Groups(GroupSettings())
        self._tickets = 0

    def ask(self, request: object, version: int = 9) -> object:
        self._tickets += 1
        outcome = self.groups.handle(Command(self._tickets, request, version, fresh_member_id="m"), NOW)
        self.carry_out(outcome)
        return next((reply.response for reply in outcome.replies if reply.ticket == self._tickets), None)

    def carry_out(self, outcome: GroupOutcome) -> None:
        for record in outcome.records:
            if outcome.producer is None:
                self.groups.apply(record)
            else:
                self.groups.apply_pending(outcome.producer[0], record)

    def commit(self, offset: int, producer: tuple[int, int] | None = PRODUCER, **member: object) -> int:
        topics = [OffsetCommitRequestTopic(TOPIC, partitions=[OffsetCommitRequestPartition(0, offset)])]
        request = OffsetCommitRequest(GROUP, topics=topics, **member)  # type: ignore[arg-type]
        answer = self.ask(request if producer is None else TransactionalCommit(request, *producer))
        return answer.topics[0].partitions[0].error_code  # type: ignore[attr-defined]

    def fetch(self, stable: bool = False) -> tuple[int, int]:
        wanted = OffsetFetchRequestGroup(GROUP, topics=[OffsetFetchRequestTopics(TOPIC, partition_indexes=[0])])
        answer = self.ask(OffsetFetchRequest(groups=[wanted], require_stable=stable))
        part = answer.groups[0].topics[0].partitions[0]  # type: ignore[attr-defined]
        return part.committed_offset, part.error_code


def test_a_commit_counts_with_its_transaction() -> None:
    bench = Bench()
    assert bench.commit(5) == 0
    assert bench.fetch() == (-1, 0)
    assert bench.fetch(stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    bench.groups.end_transaction(7, commit=True)
    assert bench.fetch(stable=True) == (5, 0)


def test_an_aborted_commit_never_was() -> None:
    bench = Bench()
    bench.commit(3, producer=None)
    bench.commit(5)
    assert bench.fetch() == (3, 0)
    bench.groups.end_transaction(7, commit=False)
    assert bench.fetch(stable=True) == (3, 0)


def test_a_group_with_nothing_but_an_aborted_commit_is_gone() -> None:
    bench = Bench()
    bench.commit(5)
    assert GROUP in bench.groups.table.groups
    bench.groups.end_transaction(7, commit=False)
    assert GROUP not in bench.groups.table.groups


def test_of_two_transactions_each_ends_its_own() -> None:
    bench = Bench()
    bench.commit(5)
    bench.commit(8, producer=(9, 0))
    bench.groups.end_transaction(9, commit=True)
    assert bench.fetch() == (8, 0)
    bench.groups.end_transaction(7, commit=True)
    assert bench.fetch(stable=True) == (8, 0), (
        "the later commit counts, though the earlier one's transaction ended last"
    )


def test_the_end_of_an_earlier_commit_does_not_take_a_later_one_away() -> None:
    bench = Bench()
    bench.commit(5)
    bench.commit(8, producer=(9, 0))
    bench.groups.end_transaction(7, commit=True)
    assert bench.fetch() == (5, 0)
    assert bench.fetch(stable=True) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    bench.groups.end_transaction(9, commit=True)
    assert bench.fetch(stable=True) == (8, 0)


def test_a_plain_commit_after_a_pending_one_is_the_later_one() -> None:
    bench = Bench()
    bench.commit(5)
    bench.commit(6, producer=None)
    bench.groups.end_transaction(7, commit=True)
    assert bench.fetch(stable=True) == (6, 0)


def test_a_member_that_the_group_does_not_know_is_refused() -> None:
    bench = Bench()
    assert bench.commit(5, generation_id_or_member_epoch=3, member_id="zombie") == ErrorCode.ILLEGAL_GENERATION
    protocols = [JoinGroupRequestProtocol("range", b"")]
    bench.ask(JoinGroupRequest(GROUP, 10_000, 10_000, protocol_type="consumer", protocols=protocols), 3)
    assert bench.commit(5, generation_id_or_member_epoch=0, member_id="zombie") == ErrorCode.UNKNOWN_MEMBER_ID
    assert bench.commit(5) == 0, "who names no member is believed"
