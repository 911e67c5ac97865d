from collections.abc import Sequence

import pytest
from ledger import Ledger
from partitions import DEFAULTS, cluster, epochs, state

from headrace.base.errors import Refused
from headrace.cluster.decide import heal
from headrace.cluster.entities import PartitionState
from headrace.cluster.reassign import Reassignment, list_reassignments, reassign
from headrace.wire.codes import ErrorCode

TWO = PartitionState((1, 2), (1, 2), 1, 3, 3)


def move(ledger: Ledger, target: Sequence[int] | None, *live: int) -> None:
    commit = reassign(ledger.image, epochs(ledger, *live), "t", 0, target, DEFAULTS)
    assert commit is not None
    ledger.run([commit])


def refusal(
    ledger: Ledger, target: Sequence[int] | None, *live: int, index: int = 0, same_factor: bool = False
) -> Refused:
    with pytest.raises(Refused) as refused:
        reassign(ledger.image, epochs(ledger, *live), "t", index, target, DEFAULTS, may_change_factor=not same_factor)
    return refused.value


def test_a_move_begins_with_the_replicas_of_both_places() -> None:
    ledger = cluster(TWO)
    move(ledger, [3, 2])
    assert list_reassignments(ledger.image) == [Reassignment("t", 0, (3, 2, 1), (3,), (1,))]
    assert (state(ledger).isr, state(ledger).leader, state(ledger).leader_epoch) == ((2, 1), 1, 3)
    assert heal(ledger.image, epochs(ledger), (), DEFAULTS).commits == []


def test_cancelling_takes_those_that_were_added_away_at_once() -> None:
    ledger = cluster(PartitionState((3, 2, 1), (3, 2, 1), 3, 3, 3, adding=(3,), removing=(1,)))
    move(ledger, None)
    after = state(ledger)
    assert (after.replicas, after.isr, after.adding, after.removing) == ((2, 1), (2, 1), (), ())
    assert (after.leader, after.leader_epoch) == (2, 4)


def test_a_move_can_be_turned_to_another_target() -> None:
    ledger = cluster(TWO)
    move(ledger, [3, 2])
    move(ledger, [4, 2])
    assert list_reassignments(ledger.image) == [Reassignment("t", 0, (4, 2, 1), (4,), (1,))]


def test_another_order_is_there_at_once() -> None:
    ledger = cluster(TWO)
    move(ledger, [2, 1])
    assert state(ledger).replicas == (2, 1)
    assert list_reassignments(ledger.image) == []
    assert reassign(ledger.image, epochs(ledger), "t", 0, [2, 1], DEFAULTS) is None


def test_nothing_in_sync_is_dropped_that_committed_records_may_need() -> None:
    ledger = cluster(PartitionState((3, 4, 1, 2), (3, 4), 3, adding=(3, 4), removing=(1, 2)))
    refused = refusal(ledger, None)
    assert refused.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "min.insync.replicas" in refused.message


def test_a_stuck_move_can_be_cancelled_though_an_old_replica_is_dead() -> None:
    ledger = cluster(PartitionState((4, 1, 2, 3), (1, 2), 1, adding=(4,), removing=(3,)))
    move(ledger, None, 1, 2)
    assert (state(ledger).replicas, state(ledger).isr) == ((1, 2, 3), (1, 2))


@pytest.mark.parametrize("target", [[], [1, 1], [1, 9], [1, 4]])
def test_targets_that_cannot_be_are_refused(target: list[int]) -> None:
    assert refusal(cluster(TWO), target, 1, 2, 3).code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_a_dead_replica_may_stay_in_the_target() -> None:
    ledger = cluster(TWO)
    move(ledger, [1, 2, 3], 1, 3)
    assert state(ledger).adding == (3,)


def test_other_refusals() -> None:
    ledger = cluster(TWO)
    assert refusal(ledger, None).code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert refusal(ledger, [1], index=1).code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refusal(ledger, [1], same_factor=True).code == ErrorCode.INVALID_REPLICATION_FACTOR
