"""Stories of in-sync sets: who joins and leaves while the store, the joiner or the leader is in trouble."""

from sim.story import BusyCluster, HeldCommit, LostCommit, Story

RELAXED = {"min_insync_replicas": "2", "flush_messages": str(1 << 40)}
LAG_SECONDS = 4.0


def a_follower_is_cut_off_from_its_leader(cluster: BusyCluster) -> None:
    follower = cluster.follower_hosts[0]
    cluster.cut_off(follower, cluster.leader)
    cluster.watch(12.0)
    assert follower.id not in cluster.state.isr
    cluster.world.network.mend_all()
    cluster.until(lambda: follower.id in cluster.state.isr)


def a_follower_is_away_for_long(cluster: BusyCluster) -> None:
    cluster.kill_a_follower()
    cluster.watch(13.0)


def the_last_follower_is_cut_off(cluster: BusyCluster) -> None:
    """With min.insync.replicas=1 the leader goes on alone, but not before that one has left the in-sync set."""
    away, last = cluster.follower_hosts
    cluster.kill(away)
    cluster.until(lambda: away.id not in cluster.state.isr)
    cluster.cut_off(last, cluster.leader)
    cluster.expect_soon("the set is without it", lambda: last.id not in cluster.state.isr, 3 * LAG_SECONDS)
    acks = cluster.checks.acks
    cluster.expect_soon("acks go on", lambda: cluster.checks.acks > acks)


def a_follower_catches_up_in_small_steps(cluster: BusyCluster) -> None:
    """What is committed is more than it has, for a while."""
    follower = cluster.kill_a_follower()
    cluster.run(1.0)
    cluster.world.start(follower)
    for _ in range(300):
        cluster.run(0.005)
    cluster.until(lambda: len(cluster.state.isr) == 3)


# -- proposals on their way --------------------------------------------------------------------------------------------


def the_store_does_not_answer_and_the_joiner_dies(cluster: BusyCluster) -> None:
    """What is written while it is to join comes to the disks of all who are in sync, and nothing else happens after."""
    joiner, _ = cluster.lose_the_commit_of_a_joiner(lands_after=None)
    cluster.let_die(joiner)
    cluster.watch(12.0)


def the_commit_of_a_dead_joiner_lands_late(cluster: BusyCluster) -> None:
    joiner, lost = cluster.lose_the_commit_of_a_joiner(lands_after=1.0)
    cluster.let_die(joiner)
    acks = cluster.checks.acks
    cluster.watch(4.0)
    assert lost.has_landed
    assert cluster.checks.acks > acks


def the_news_of_a_commit_comes_late(cluster: BusyCluster) -> None:
    """The store says that the joiner is in sync; its leader hears that somebody was faster, and not yet who or what."""
    joiner, lost = cluster.lose_the_commit_of_a_joiner(lands_after=0.2)
    news = cluster.world.slow_commits
    news.news_seconds_min = news.news_seconds_max = 2.0
    cluster.world.kill(joiner)
    cluster.run(1.0)
    assert lost.has_landed
    news.news_seconds_min = news.news_seconds_max = 0.0
    cluster.watch(4.0)


def the_commit_of_a_dead_leader_lands_late(cluster: BusyCluster) -> None:
    """Another leads by then, and has acknowledged more."""
    seconds = cluster.rng.uniform(1.0, 3.0)
    _, lost = cluster.lose_the_commit_of_a_joiner(lands_after=seconds)
    leader = cluster.leader
    cluster.kill(leader)
    cluster.until(lambda: cluster.state.leader not in (-1, leader.id))
    cluster.run(seconds)
    assert lost.has_landed
    cluster.world.start(leader)
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_setting_changes_while_a_joiner_is_on_its_way(cluster: BusyCluster) -> None:
    """One that acks do not depend on. The joiner has no link to its leader any more, and is behind when it is in sync."""
    joiner = cluster.kill_a_follower()
    assert cluster.leader.store is not None
    held = HeldCommit(cluster.leader.store, cluster.rng.uniform(0.5, 1.0))
    cluster.world.start(joiner)
    cluster.until(lambda: held.is_sent)
    cluster.cut_off(joiner, cluster.leader)
    cluster.set_topic(retention_ms="86400000")
    cluster.until(lambda: joiner.id in cluster.state.isr)
    cluster.world.network.mend_all()
    cluster.until(lambda: len(cluster.state.isr) == 3)


def the_metadata_are_loaded_anew_while_a_joiner_is_on_its_way(cluster: BusyCluster) -> None:
    """Somebody asks the leader for more replicas than there are brokers, so it looks whether it has missed news, and it has:
    of something else. The joiner has no link to its leader any more, and is behind when it is in sync."""
    joiner = cluster.kill_a_follower()
    assert cluster.leader.store is not None
    held = HeldCommit(cluster.leader.store, cluster.rng.uniform(0.5, 1.0))
    cluster.world.start(joiner)
    cluster.until(lambda: held.is_sent)
    cluster.cut_off(joiner, cluster.leader)
    news = cluster.hold_news(cluster.leader)
    cluster.set_topic(retention_ms="86400000")
    cluster.ask_for_too_many_replicas(cluster.leader)
    news.let_go()
    cluster.until(lambda: joiner.id in cluster.state.isr)
    cluster.world.network.mend_all()
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_joiner_is_another_life_when_its_commit_lands(cluster: BusyCluster) -> None:
    """And does not reach its leader: what waited for the joiner has to be looked at again, and nobody comes to do it."""
    joiner = cluster.kill_a_follower()
    assert cluster.leader.store is not None
    held = HeldCommit(cluster.leader.store, cluster.rng.uniform(0.8, 1.2))
    cluster.world.start(joiner)
    cluster.until(lambda: held.is_sent)
    cluster.kill(joiner)
    cluster.cut_off(joiner, cluster.leader)
    cluster.world.start(joiner)
    cluster.until(lambda: held.is_done)
    assert joiner.is_serving
    cluster.watch(12.0)


def a_joiner_loses_power_before_its_commit_lands(cluster: BusyCluster) -> None:
    """Of a relaxed topic: what it had fetched was in its page cache."""
    joiner = cluster.kill_a_follower()
    assert cluster.leader.store is not None
    held = HeldCommit(cluster.leader.store, cluster.rng.uniform(0.8, 1.2))
    cluster.world.start(joiner)
    cluster.until(lambda: held.is_sent)
    cluster.kill(joiner)
    cluster.world.lose_power(joiner)
    cluster.cut_off(joiner, cluster.leader)
    cluster.world.start(joiner)
    cluster.until(lambda: held.is_done)
    assert joiner.is_serving
    cluster.watch(1.0)
    cluster.world.network.mend_all()
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_quiet_joiner_is_not_known_yet(cluster: BusyCluster) -> None:
    """The leader hears of its registration after its fetch, and on a quiet partition there is no other fetch to count."""
    cluster.stop_producers()
    joiner = cluster.kill_a_follower()
    leader = cluster.leader
    led = cluster.partition(leader.id).leader
    assert leader.store is not None
    news = cluster.hold_news(leader)
    cluster.world.start(joiner)
    cluster.until(lambda: joiner.is_serving)
    epoch = cluster.checks.image().brokers[joiner.id].epoch
    cluster.until(lambda: led._followers[joiner.id].broker_epoch == epoch)
    cluster.run(cluster.rng.uniform(0.02, 0.2))
    news.let_go()
    cluster.until(lambda: joiner.id in cluster.state.isr)


# -- lives ---------------------------------------------------------------------------------------------------------------


def a_fetch_of_the_last_life_comes_late(cluster: BusyCluster) -> None:
    """Of a relaxed topic: it names more than the next life has, since the power went between the two."""
    cluster.stop_producers()
    follower, leader = cluster.follower_hosts[0], cluster.leader
    cluster.run(1.0)
    end = cluster.partition(leader.id).log.end_offset
    network = cluster.world.network
    network.slow_down(follower.address, leader.address, 2000)
    cluster.add_producers(1)
    cluster.until(lambda: cluster.partition(follower.id).log.end_offset > end)
    cluster.producers[-1].stopping = True
    cluster.run(0.01)
    cluster.kill(follower)
    cluster.world.lose_power(follower)
    network.mend(follower.address, leader.address)
    # So that its next life is known to the leader for a while before it has anything.
    network.slow_down(leader.address, follower.address, 1000)
    cluster.world.start(follower)
    cluster.run(4.0)
    network.mend_all()
    cluster.until(lambda: len(cluster.state.isr) == 3)


def all_die_and_one_of_them_loses_power(cluster: BusyCluster) -> None:
    """Of a relaxed topic. That one is back first: what others have in their page caches is acknowledged."""
    dark, *others = [*cluster.follower_hosts, cluster.leader]
    for host in cluster.world.hosts:
        cluster.kill(host)
    cluster.world.lose_power(dark)
    cluster.world.start(dark)
    cluster.run(cluster.rng.uniform(1.0, 3.0))
    for host in others:
        cluster.world.start(host)
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_topic_becomes_durable_while_most_are_down(cluster: BusyCluster) -> None:
    """Two lose power while it is relaxed, and one of them is back when it no longer is: what its page cache had is gone all
    the same, and the third, which is back last, has it."""
    third, (first, second) = cluster.leader, cluster.follower_hosts
    for host in cluster.world.hosts:
        cluster.kill(host)
    for dark in (first, second):
        cluster.world.lose_power(dark)
    cluster.world.start(first)
    cluster.until(lambda: first.id not in cluster.state.isr)
    cluster.set_topic(flush_messages="1")
    cluster.run(cluster.rng.uniform(0.1, 1.0))
    cluster.world.start(second)
    cluster.run(cluster.rng.uniform(1.0, 3.0))
    cluster.world.start(third)
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_topic_is_relaxed_for_a_moment(cluster: BusyCluster) -> None:
    """Shorter than the time between two checkpoints; then one loses power, and is back first when it is durable again."""
    dark = cluster.follower_hosts[0]
    cluster.set_topic(flush_messages=RELAXED["flush_messages"])
    cluster.run(cluster.rng.uniform(0.1, 4.0))
    cluster.world.lose_power(dark)
    cluster.set_topic(flush_messages="1")
    for host in cluster.world.hosts:
        if host is not dark:
            cluster.kill(host)
    cluster.world.start(dark)
    cluster.run(cluster.rng.uniform(1.0, 3.0))
    for host in cluster.world.hosts:
        if host is not dark:
            cluster.world.start(host)
    cluster.until(lambda: len(cluster.state.isr) == 3)


# -- leaders left alone --------------------------------------------------------------------------------------------------


def _leave_the_leader_alone(cluster: BusyCluster) -> None:
    for host in cluster.follower_hosts:
        cluster.kill(host)
    cluster.until(lambda: cluster.state.isr == (cluster.leader.id,))
    cluster.run(cluster.rng.uniform(0.2, 1.0))


def _bring_the_others_back(cluster: BusyCluster) -> None:
    alone, others = cluster.leader, cluster.follower_hosts
    cluster.kill(alone)
    for host in others:
        cluster.world.start(host)
    cluster.expect_soon("one of the others leads", lambda: cluster.state.leader in [host.id for host in others])
    cluster.run(1.0)
    cluster.world.start(alone)
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_leader_is_left_alone_and_dies(cluster: BusyCluster) -> None:
    """Nothing was committed since the others went, so they may lead, and should: it may never come back."""
    _leave_the_leader_alone(cluster)
    _bring_the_others_back(cluster)


def a_leader_alone_hears_of_a_lower_minimum_and_dies(cluster: BusyCluster) -> None:
    """The store does not hear from it that the others may not lead any more, and the minimum is raised again."""
    _leave_the_leader_alone(cluster)
    assert cluster.leader.store is not None
    LostCommit(cluster.world, cluster.leader.store, None, lost_seconds=30.0)
    cluster.set_topic(min_insync_replicas="1")
    cluster.run(cluster.rng.uniform(0.3, 1.0))
    cluster.set_topic(min_insync_replicas="2")
    _bring_the_others_back(cluster)


def a_leader_alone_dies_before_its_joiner_is_committed(cluster: BusyCluster) -> None:
    """The one that stayed away may lead, and lacks what the joiner has fetched."""
    joiner, away = cluster.follower_hosts
    _leave_the_leader_alone(cluster)
    alone = cluster.leader
    assert alone.store is not None
    held = HeldCommit(alone.store, 60.0)
    cluster.world.start(joiner)
    cluster.until(lambda: held.is_sent)
    cluster.run(cluster.rng.uniform(0.2, 1.0))
    cluster.kill(joiner)
    cluster.kill(alone)
    cluster.world.start(away)
    cluster.expect_soon("the one that stayed away leads", lambda: cluster.state.leader == away.id)
    cluster.world.start(alone)
    cluster.world.start(joiner)
    cluster.until(lambda: len(cluster.state.isr) == 3)


CUT_OFF = Story(a_follower_is_cut_off_from_its_leader)
AWAY = Story(a_follower_is_away_for_long)
LAST = Story(
    the_last_follower_is_cut_off,
    {"replica.lag.time.max.ms": f"{LAG_SECONDS * 1000:.0f}"},
    {"min_insync_replicas": "1"},
)
STEPS = Story(a_follower_catches_up_in_small_steps, {"replica.fetch.max.bytes": "2000"})
NO_ANSWER = Story(the_store_does_not_answer_and_the_joiner_dies)
LATE_JOINER = Story(the_commit_of_a_dead_joiner_lands_late)
LATE_NEWS = Story(the_news_of_a_commit_comes_late)
SETTING = Story(a_setting_changes_while_a_joiner_is_on_its_way)
LOADED = Story(the_metadata_are_loaded_anew_while_a_joiner_is_on_its_way)
LATE_LEADER = Story(the_commit_of_a_dead_leader_lands_late)
OTHER_LIFE = Story(a_joiner_is_another_life_when_its_commit_lands)
LOST_POWER = Story(a_joiner_loses_power_before_its_commit_lands, topic_config=RELAXED)
QUIET = Story(a_quiet_joiner_is_not_known_yet)
LAST_LIFE = Story(a_fetch_of_the_last_life_comes_late, topic_config=RELAXED)
DARK = Story(all_die_and_one_of_them_loses_power, topic_config=RELAXED)
MOMENT = Story(a_topic_is_relaxed_for_a_moment)
HARDENED = Story(a_topic_becomes_durable_while_most_are_down, topic_config=RELAXED)
ALONE = Story(a_leader_is_left_alone_and_dies)
LOWERED = Story(a_leader_alone_hears_of_a_lower_minimum_and_dies)
ALONE_WITH_A_JOINER = Story(a_leader_alone_dies_before_its_joiner_is_committed)

ISR_STORIES = (
    CUT_OFF,
    AWAY,
    LAST,
    STEPS,
    NO_ANSWER,
    LATE_JOINER,
    LATE_NEWS,
    SETTING,
    LOADED,
    LATE_LEADER,
    OTHER_LIFE,
    LOST_POWER,
    QUIET,
    LAST_LIFE,
    DARK,
    HARDENED,
    MOMENT,
    ALONE,
    LOWERED,
    ALONE_WITH_A_JOINER,
)
