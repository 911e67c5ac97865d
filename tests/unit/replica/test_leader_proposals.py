"""Who a leader proposes for the in-sync set, when it has to ask more than once."""

from headrace.replica.leader import LeaderReplica, Proposal

LIVE = {1: 5, 2: 6, 3: 7}


def leader_with_outsider() -> LeaderReplica:
    """Broker 1 leads 2 (in sync) and 3 (not), and has 10 records."""
    return LeaderReplica(1, (1, 2, 3), (1, 2), 2, end_offset=10, high_watermark=10, now=0.0)


def test_a_follower_whose_proposal_failed_is_proposed_again_without_another_fetch() -> None:
    leader = leader_with_outsider()
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    assert leader.propose_joiner(3) == Proposal((1, 2, 3), {3: 7})
    assert leader.propose_waiting(LIVE) is None, "it is on its way"
    leader.on_proposal_failed()
    assert leader.propose_waiting(LIVE) == Proposal((1, 2, 3), {3: 7})


def test_a_follower_that_lacks_committed_records_is_not_proposed() -> None:
    leader = leader_with_outsider()
    assert leader.propose_waiting(LIVE) is None, "it never fetched"
    leader.on_fetch(3, broker_epoch=7, offset=9, end_offset=10, now=1.0)
    assert leader.propose_waiting(LIVE) is None


def test_with_all_in_sync_there_is_nobody_to_propose() -> None:
    leader = leader_with_outsider()
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    leader.on_replicas((1, 2, 3), (1, 2, 3), 2, now=1.0)
    assert leader.propose_waiting(LIVE) is None


def test_a_dead_follower_does_not_stand_in_front_of_one_that_lives() -> None:
    leader = LeaderReplica(1, (1, 2, 3), (1,), 2, end_offset=10, high_watermark=10, now=0.0)
    leader.on_fetch(2, broker_epoch=6, offset=10, end_offset=10, now=1.0)
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    assert leader.propose_waiting({1: 5, 3: 7}) == Proposal((1, 3), {3: 7})


def test_a_follower_is_not_proposed_for_what_an_earlier_life_of_it_fetched() -> None:
    leader = leader_with_outsider()
    leader.on_fetch(3, broker_epoch=7, offset=10, end_offset=10, now=1.0)
    assert leader.propose_waiting({1: 5, 2: 6, 3: 8}) is None
