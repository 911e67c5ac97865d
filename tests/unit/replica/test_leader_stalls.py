"""In-sync followers that stand still while acks wait for them."""

from headrace.replica.leader import LeaderReplica
from headrace.replica.proposal import Proposal

LOOK = 0.5
STALL = 2.0


def leader(replicas: int = 3, min_isr: int = 2) -> LeaderReplica:
    """Broker 1 leads; all are in sync and have 10 records."""
    ids = tuple(range(1, replicas + 1))
    made = LeaderReplica(1, ids, ids, min_isr, end_offset=10, high_watermark=10, now=0.0)
    for follower in ids[1:]:
        made.on_fetch(follower, broker_epoch=1, offset=10, end_offset=10, now=0.0)
    return made


def look(leader: LeaderReplica, since: float, seconds: float, end_offset: int = 12) -> Proposal | None:
    """Every half second, until it proposes something."""
    for number in range(1, int(seconds / LOOK) + 1):
        proposal = leader.propose_without_stalled(end_offset, STALL, since + number * LOOK)
        if proposal is not None:
            return proposal
    return None


def test_one_that_stands_still_leaves() -> None:
    busy = leader()
    busy.on_fetch(2, broker_epoch=1, offset=12, end_offset=12, now=1.0)
    assert look(busy, since=0.0, seconds=2.0) is None
    assert look(busy, since=2.0, seconds=1.0) == Proposal((1, 2), {})


def test_one_that_moves_stays_however_slow_it_is() -> None:
    busy = leader()
    busy.on_fetch(2, broker_epoch=1, offset=100, end_offset=100, now=0.0)
    for second in range(1, 30):
        busy.on_fetch(3, broker_epoch=1, offset=10 + second, end_offset=100, now=float(second))
        assert look(busy, since=float(second), seconds=1.0, end_offset=100) is None


def test_nobody_leaves_a_partition_where_all_is_committed() -> None:
    assert look(leader(), since=0.0, seconds=60.0, end_offset=10) is None


def test_a_quiet_hour_does_not_count() -> None:
    quiet = leader()
    quiet.on_fetch(2, broker_epoch=1, offset=12, end_offset=12, now=3600.0)
    assert quiet.propose_without_stalled(12, STALL, 3600.0) is None
    assert quiet.propose_without_stalled(12, STALL, 3600.5) is None


def test_a_leader_that_stood_still_itself_blames_nobody() -> None:
    frozen = leader()
    frozen.on_fetch(2, broker_epoch=1, offset=12, end_offset=12, now=0.0)
    assert frozen.propose_without_stalled(12, STALL, 0.5) is None
    assert frozen.propose_without_stalled(12, STALL, 60.0) is None


def test_where_too_few_would_stay_nobody_leaves() -> None:
    assert look(leader(min_isr=3), since=0.0, seconds=10.0) is None
    assert look(leader(replicas=3), since=0.0, seconds=10.0) is None, "both stand still"
    assert look(leader(replicas=3, min_isr=1), since=0.0, seconds=10.0) is None, "no majority"
    assert look(leader(replicas=2, min_isr=1), since=0.0, seconds=10.0) is None, "no majority"


def stalled_once() -> LeaderReplica:
    """Broker 3 has left at 2.5 s, and has caught up at 3 s."""
    busy = leader()
    busy.on_fetch(2, broker_epoch=1, offset=12, end_offset=12, now=1.0)
    assert look(busy, since=0.0, seconds=3.0) == Proposal((1, 2), {})
    busy.on_replicas((1, 2, 3), (1, 2), 2, now=2.6)
    busy.on_fetch(3, broker_epoch=1, offset=12, end_offset=12, now=3.0)
    return busy


def test_one_that_left_is_back_after_a_moment() -> None:
    busy = stalled_once()
    assert busy.propose_joiner(3, now=3.0) is None
    assert busy.propose_waiting({2: 1, 3: 1}, now=4.0) == Proposal((1, 2, 3), {3: 1})


def test_one_that_stalls_again_stays_out_for_longer() -> None:
    busy = stalled_once()
    busy.on_replicas((1, 2, 3), (1, 2, 3), 2, now=4.0)
    busy.on_fetch(2, broker_epoch=1, offset=14, end_offset=14, now=5.0)
    assert look(busy, since=5.0, seconds=3.0, end_offset=14) == Proposal((1, 2), {})
    busy.on_replicas((1, 2, 3), (1, 2), 2, now=7.6)
    busy.on_fetch(3, broker_epoch=1, offset=14, end_offset=14, now=8.0)
    assert busy.propose_joiner(3, now=9.0) is None
    assert busy.propose_joiner(3, now=9.6) is not None


def test_one_that_left_is_back_at_once_when_it_is_needed() -> None:
    busy = stalled_once()
    busy.on_replicas((1, 2, 3), (1,), 2, now=3.0)
    assert busy.propose_joiner(3, now=3.0) is not None
