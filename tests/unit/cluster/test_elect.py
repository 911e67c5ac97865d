import pytest

from headrace.cluster.elect import check_sound, effective_min_isr, elect, min_isr_to_commit, with_isr
from headrace.cluster.entities import NO_LEADER, PartitionState

THREE = PartitionState((1, 2, 3), (1, 2, 3), 1, leader_epoch=4, partition_epoch=9)


def elected(state: PartitionState, *live: int, leaving: tuple[int, ...] = (), unclean: bool = False) -> PartitionState:
    election = elect(state, live, leaving, min_isr=2, unclean=unclean)
    assert election is not None
    check_sound(election.state)
    assert election.state.partition_epoch > state.partition_epoch
    return election.state


def test_the_first_in_sync_replica_in_assignment_order_that_is_alive_leads() -> None:
    after = elected(THREE, 3, 2)
    assert (after.leader, after.leader_epoch, after.isr, after.elr) == (2, 5, (2, 3), ())


def test_a_leader_that_is_alive_stays_and_the_dead_leave_its_isr() -> None:
    after = elected(THREE._replace(leader=3), 2, 3)
    assert (after.leader, after.leader_epoch, after.isr) == (3, 4, (2, 3))


def test_nothing_changes_when_all_is_well() -> None:
    assert elect(THREE, [1, 2, 3], min_isr=2, unclean=True) is None


def test_without_anyone_alive_nobody_leads_and_the_isr_stays_as_it_was() -> None:
    after = elected(THREE, 4)
    assert (after.leader, after.leader_epoch, after.isr) == (NO_LEADER, 5, (1, 2, 3))
    assert elect(after, [4], min_isr=2, unclean=False) is None
    back = elected(after, 3)
    assert (back.leader, back.leader_epoch, back.isr, back.elr) == (3, 6, (3,), (1, 2))


def test_who_leaves_below_the_minimum_may_lead_when_the_isr_is_dead() -> None:
    alone = elected(THREE, 1)
    assert (alone.isr, alone.elr, alone.leader_epoch) == ((1,), (2, 3), 4)
    after = elected(alone, 3)
    assert (after.leader, after.isr, after.elr, after.leader_epoch) == (3, (3,), (1, 2), 5)


def test_who_left_above_the_minimum_may_not() -> None:
    after = elected(PartitionState((1, 2, 3), (1, 2), 1), 3)
    assert (after.leader, after.isr) == (NO_LEADER, (1, 2))


def test_the_elr_clears_when_enough_are_in_sync_again() -> None:
    state = PartitionState((1, 2, 3), (1,), 1, elr=(2, 3))
    assert with_isr(state, (1, 2), 2).elr == ()
    assert with_isr(state, (1, 2), 3).elr == (3,)


def test_an_elr_does_not_count_once_the_minimum_was_lowered_below_the_isr() -> None:
    election = elect(PartitionState((1, 2), (1,), 1, elr=(2,)), [2], min_isr=1, unclean=False)
    assert election is not None
    assert (election.state.leader, election.state.elr) == (NO_LEADER, ())


def test_an_unclean_election_is_said_to_be_one_and_leaves_its_leader_alone_in_sync() -> None:
    state = PartitionState((1, 2, 3), (1,), NO_LEADER, damaged=(1,))
    election = elect(state, [1, 3], min_isr=2, unclean=True)
    assert election is not None
    assert election.unclean
    assert (election.state.leader, election.state.isr, election.state.damaged) == (1, (1,), ())
    clean = elect(THREE, [3], min_isr=2, unclean=True)
    assert clean is not None
    assert not clean.unclean


def test_a_damaged_replica_does_not_lead_by_itself_but_the_elr_does() -> None:
    state = PartitionState((1, 2), (1,), NO_LEADER, damaged=(1,))
    assert elect(state, [1, 2], min_isr=2, unclean=False) is None
    after = elected(state._replace(elr=(2,)), 1, 2)
    assert (after.leader, after.isr, after.elr, after.damaged) == (2, (2,), (), ())


def test_a_leaving_broker_gives_its_leadership_up_and_stays_in_sync() -> None:
    after = elected(THREE, 1, 2, 3, leaving=(1,))
    assert (after.leader, after.isr) == (2, (1, 2, 3))


def test_a_leaving_broker_leads_where_nobody_else_can() -> None:
    assert elect(PartitionState((1, 2), (1,), 1), [1, 2], [1], min_isr=1, unclean=True) is None
    assert elected(THREE, 2, leaving=(2,)).leader == 2
    assert elect(THREE._replace(leader=2), [1, 2, 3], [1, 2, 3], min_isr=2, unclean=False) is None


@pytest.mark.parametrize(
    ("state", "least", "to_commit"),
    [
        (THREE, 2, 2),
        (PartitionState((1,), (1,), 1), 1, 1),
        (PartitionState((2, 1), (1,), 1, adding=(2,)), 1, 1),
        (PartitionState((1, 2, 3), (1,), 1, elr=(2,)), 2, 2),
        (PartitionState((1, 2, 3), (1, 2), 1, elr=(3,)), 2, 3),
    ],
)
def test_how_many_must_be_in_sync(state: PartitionState, least: int, to_commit: int) -> None:
    assert effective_min_isr(state, 2) == least
    assert min_isr_to_commit(state, 2) == to_commit


@pytest.mark.parametrize(
    "state",
    [
        PartitionState((1, 2), (), NO_LEADER),
        PartitionState((1, 2), (3,), NO_LEADER),
        PartitionState((1, 2), (1,), 2),
        PartitionState((1, 2), (1,), 1, damaged=(1,)),
        PartitionState((1, 2), (1,), NO_LEADER, damaged=(2,)),
        PartitionState((1, 2), (1,), 1, elr=(1,)),
        PartitionState((1, 2), (1,), 1, elr=(3,)),
        PartitionState((1, 2), (1,), 1, adding=(2,), removing=(2,)),
    ],
)
def test_what_must_never_be_stored(state: PartitionState) -> None:
    with pytest.raises(AssertionError):
        check_sound(state)
