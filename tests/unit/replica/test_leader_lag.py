"""How far behind its followers a leader says they are."""

from headrace.replica.leader import LeaderReplica
from headrace.replica.proposal import Proposal


def leader() -> LeaderReplica:
    """Broker 1 leads 2 and 3, and has 10 records that both have."""
    made = LeaderReplica(1, (1, 2, 3), (1, 2, 3), 2, end_offset=10, high_watermark=10, now=0.0)
    for follower in (2, 3):
        made.on_fetch(follower, broker_epoch=1, offset=10, end_offset=10, now=1.0)
    return made


def test_nobody_is_behind_when_all_are_at_the_end() -> None:
    assert leader().furthest(10, now=100.0) == (0, 0.0)


def test_the_time_runs_from_the_first_append_after_a_quiet_hour() -> None:
    quiet = leader()
    quiet.on_append(now=3600.0)
    assert quiet.furthest(11, now=3602.0) == (1, 2.0)


def test_the_furthest_counts() -> None:
    busy = leader()
    busy.on_append(now=2.0)
    busy.on_fetch(2, broker_epoch=1, offset=15, end_offset=20, now=5.0)
    busy.on_fetch(2, broker_epoch=1, offset=20, end_offset=25, now=6.0)
    assert busy.furthest(25, now=7.0) == (15, 5.0)


def test_one_that_never_fetched_lacks_everything() -> None:
    alone = LeaderReplica(1, (1, 2), (1,), 1, end_offset=10, high_watermark=10, now=4.0)
    assert alone.furthest(10, now=9.0) == (10, 5.0)


def test_a_partition_without_followers_has_no_lag() -> None:
    assert LeaderReplica(1, (1,), (1,), 1, 10, 10, 0.0).furthest(12, now=9.0) == (0, 0.0)


def test_a_quiet_hour_costs_nobody_its_place() -> None:
    quiet = leader()
    quiet.on_append(now=3600.0)
    assert quiet.propose_without_laggards(11, lag_seconds_max=30.0, now=3629.0) is None
    assert quiet.propose_without_laggards(11, lag_seconds_max=30.0, now=3631.0) == Proposal((1,), {})


def test_one_that_is_a_fetch_behind_keeps_up() -> None:
    """Under load the end has moved on whenever a fetch comes in."""
    busy = leader()
    for second in range(2, 60):
        for follower in (2, 3):
            busy.on_fetch(follower, broker_epoch=1, offset=10 * (second - 1), end_offset=10 * second, now=second)
        busy.on_append(now=second)
        assert busy.propose_without_laggards(10 * second, lag_seconds_max=30.0, now=second) is None
