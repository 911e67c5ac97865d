import pytest
from partitions import ID, cluster, epochs, state

from headrace.cluster.damage import is_claimed, must_stand_down, stand_down
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.rejoin import Doubt


def after(before: PartitionState, broker_id: int = 1, *live: int) -> PartitionState:
    ledger = cluster(before)
    ledger.run(stand_down(ledger.image, broker_id, ID, 0, epochs(ledger, *live)))
    return state(ledger)


def test_another_in_sync_leads_in_a_new_epoch() -> None:
    found = after(PartitionState((1, 2, 3), (1, 2, 3), 1, 5, 5))
    assert (found.leader, found.leader_epoch, found.isr, found.damaged) == (2, 6, (2, 3), ())
    assert not is_claimed(found, 1)


def test_a_dead_one_is_waited_for() -> None:
    found = after(PartitionState((1, 2), (1, 2), 1, 5, 5), 1, 1, 3)
    assert (found.leader, found.isr, found.damaged) == (NO_LEADER, (2,), ())


def test_the_last_in_sync_is_marked_and_the_partition_offline() -> None:
    found = after(PartitionState((1, 2), (1,), 1, 5, 5))
    assert (found.leader, found.leader_epoch, found.isr, found.damaged) == (NO_LEADER, 6, (1,), (1,))
    assert not is_claimed(found, 1)


@pytest.mark.parametrize("doubt", [Doubt.UNSURE, Doubt.UNSYNCED])
def test_the_last_in_sync_leads_on_if_it_is_not_known_to_be_damaged(doubt: Doubt) -> None:
    ledger = cluster(PartitionState((1, 2), (1,), 1, 5, 5))
    assert stand_down(ledger.image, 1, ID, 0, epochs(ledger, 1), doubt) == []
    assert not must_stand_down(state(ledger), 1, doubt)


def test_the_last_in_sync_that_is_unsure_leaves_it_to_one_that_is_eligible() -> None:
    ledger = cluster(PartitionState((1, 2), (1,), 1, 5, 5, elr=(2,)))
    ledger.run(stand_down(ledger.image, 1, ID, 0, epochs(ledger, 1, 2), Doubt.UNSURE))
    assert (state(ledger).isr, state(ledger).leader) == ((2,), 2)


def test_a_follower_leaves_and_its_leader_stays() -> None:
    found = after(PartitionState((1, 2, 3), (1, 2), 2, 5, 5, elr=()))
    assert (found.leader, found.leader_epoch, found.isr) == (2, 5, (2,))


def test_nothing_is_written_where_nobody_counts_on_it() -> None:
    ledger = cluster(PartitionState((1, 2), (2,), 2, 5, 5))
    assert stand_down(ledger.image, 1, ID, 0, epochs(ledger)) == []
    assert stand_down(ledger.image, 1, bytes(16), 0, epochs(ledger)) == []
