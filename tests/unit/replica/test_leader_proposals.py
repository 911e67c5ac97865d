"""Who a leader proposes for the in-sync set, when it has to ask more than once."""

from headrace.replica.leader import LeaderReplica
from headrace.replica.proposal import Proposal

LIVE = {1: 5, 2: 6, 3: 7}


def leader_with_outsider() -> LeaderReplica:
    """Broker 1 leads 2 (in sync) and 3 (not), and has 10 records."""
    return LeaderReplica(1, (1, 2, 3), (1, 2), 2, end_offset=10, high_watermark=10, now=0.0)


def test_a_follower_whose_proposal_failed_is_proposed_again_without_another_fetch() -> None:
    leader = leader_with_outsider()
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    assert leader.propose_joiner(3, now=1.0) == Proposal((1, 2, 3), {3: 7})
    assert leader.propose_waiting(LIVE, now=1.0) is None, "it is on its way"
    leader.underway.end()
    assert leader.propose_waiting(LIVE, now=1.0) == Proposal((1, 2, 3), {3: 7})


def test_a_follower_that_lacks_committed_records_is_not_proposed() -> None:
    leader = leader_with_outsider()
    assert leader.propose_waiting(LIVE, now=1.0) is None, "it never fetched"
    leader.on_fetch(3, broker_epoch=7, offset=9, end_offset=10, now=1.0)
    assert leader.propose_waiting(LIVE, now=1.0) is None


def test_with_all_in_sync_there_is_nobody_to_propose() -> None:
    leader = leader_with_outsider()
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    leader.on_replicas((1, 2, 3), (1, 2, 3), 2, now=1.0)
    assert leader.propose_waiting(LIVE, now=1.0) is None


def test_a_dead_follower_does_not_stand_in_front_of_one_that_lives() -> None:
    leader = LeaderReplica(1, (1, 2, 3), (1,), 2, end_offset=10, high_watermark=10, now=0.0)
    leader.on_fetch(2, broker_epoch=6, offset=10, end_offset=10, now=1.0)
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    assert leader.propose_waiting({1: 5, 3: 7}, now=1.0) == Proposal((1, 3), {3: 7})


def test_a_follower_is_not_proposed_for_what_an_earlier_life_of_it_fetched() -> None:
    leader = leader_with_outsider()
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    assert leader.propose_waiting({1: 5, 2: 6, 3: 8}, now=1.0) is None


def joiner_on_its_way() -> tuple[LeaderReplica, Proposal]:
    """Both followers have 10 records; 3 is proposed. Then 2 and the leader have 12."""
    leader = leader_with_outsider()
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    proposal = leader.propose_joiner(3, now=1.0)
    assert proposal is not None
    leader.on_fetch(2, broker_epoch=6, offset=12, end_offset=12, now=1.0)
    return leader, proposal


def test_while_a_joiner_is_proposed_nothing_is_committed_that_it_lacks() -> None:
    leader, _ = joiner_on_its_way()
    assert leader.advance(12) == 10
    leader.on_fetch(3, broker_epoch=7, offset=11, end_offset=12, now=1.0)
    assert leader.advance(12) == 11


def test_a_joiner_counts_for_the_minimum_when_it_is_committed() -> None:
    leader = LeaderReplica(1, (1, 2, 3), (1,), 2, end_offset=10, high_watermark=10, now=0.0)
    leader.on_fetch(3, broker_epoch=7, offset=12, end_offset=12, now=1.0)
    assert leader.propose_joiner(3, now=1.0) == Proposal((1, 3), {3: 7})
    leader.underway.on_sent()
    assert not leader.has_min_isr and leader.advance(12) == 10
    leader.on_replicas((1, 2, 3), (1, 3), 2, now=2.0)
    assert leader.has_min_isr and leader.advance(12) == 12


def test_a_changed_minimum_does_not_end_a_proposal() -> None:
    leader, proposal = joiner_on_its_way()
    leader.underway.on_sent()
    leader.on_min_isr(1)
    assert leader.underway.proposal is proposal
    assert leader.advance(12) == 10


def test_a_changed_minimum_counts_at_once() -> None:
    leader = leader_with_outsider()
    leader.on_min_isr(3)
    assert not leader.has_min_isr


def test_a_proposal_that_was_never_sent_can_be_withdrawn() -> None:
    leader, proposal = joiner_on_its_way()
    assert leader.underway.withdraw()
    assert leader.underway.proposal is not proposal
    assert leader.advance(12) == 12


def test_a_proposal_that_was_sent_stays_until_a_state_or_a_comparison_ends_it() -> None:
    leader, proposal = joiner_on_its_way()
    leader.underway.on_sent()
    assert not leader.underway.withdraw()
    assert leader.underway.proposal is proposal
    assert leader.advance(12) == 10
    leader.on_replicas((1, 2, 3), (1, 2), 2, now=2.0)
    assert leader.underway.proposal is not proposal
    assert leader.advance(12) == 12


def test_the_next_proposal_can_be_withdrawn_again() -> None:
    leader, _ = joiner_on_its_way()
    leader.underway.on_sent()
    leader.underway.end()
    leader.on_fetch(3, broker_epoch=7, offset=12, end_offset=12, now=2.0)
    assert leader.propose_joiner(3, now=1.0) is not None
    assert leader.underway.withdraw()
