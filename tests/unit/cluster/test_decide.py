import pytest
from ledger import Ledger
from partitions import DEFAULTS, ID, cluster, epochs, state, states

from headrace.cluster.changes import NewTopic, create_topic
from headrace.cluster.decide import BREATH, heal, heal_steps, shut_down
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.records import partition_key
from headrace.cluster.registration import claim_control
from headrace.cluster.store import Commit

THREE = PartitionState((1, 2, 3), (1, 2, 3), 1)


def test_a_lost_brokers_partitions_are_led_by_others_and_then_nothing_is_left_to_do() -> None:
    ledger = cluster(THREE, PartitionState((2, 3), (2, 3), 2), PartitionState((1,), (1,), 1))
    live = epochs(ledger, 2, 3, 4)
    ledger.run(heal(ledger.image, live, (), DEFAULTS).commits)
    assert [each.leader for each in states(ledger)] == [2, 2, NO_LEADER]
    assert [each.isr for each in states(ledger)] == [(2, 3), (2, 3), (1,)]
    assert heal(ledger.image, live, (), DEFAULTS) == ([], 0)


def test_a_broker_that_is_back_under_an_epoch_it_is_not_registered_with_is_not_alive() -> None:
    ledger = cluster(THREE)
    live = {**epochs(ledger), 1: 99}
    ledger.run(heal(ledger.image, live, (), DEFAULTS).commits)
    assert (state(ledger).leader, state(ledger).isr) == (2, (2, 3))


def test_a_partition_that_nobody_led_is_led_once_a_replica_is_back() -> None:
    ledger = cluster(PartitionState((1, 2), (2,), NO_LEADER, 3, 3, elr=(1,)))
    ledger.run(heal(ledger.image, epochs(ledger, 1, 3), (), DEFAULTS).commits)
    assert (state(ledger).leader, state(ledger).leader_epoch, state(ledger).isr) == (1, 4, (1,))


def test_unclean_elections_happen_where_the_topic_allows_them_and_are_counted() -> None:
    lost = PartitionState((1, 2), (1,), 1)
    for allowed, leader in (("true", 2), ("false", NO_LEADER)):
        ledger = cluster(lost, lost, config={"unclean.leader.election.enable": allowed, "min.insync.replicas": "1"})
        decision = heal(ledger.image, epochs(ledger, 2), (), DEFAULTS)
        assert decision.unclean == (2 if allowed == "true" else 0)
        ledger.run(decision.commits)
        assert [each.leader for each in states(ledger)] == [leader, leader]


def test_a_complete_move_is_finished_and_its_leader_is_among_those_who_stay() -> None:
    moving = PartitionState((3, 2, 1), (1, 2, 3), 1, 7, 7, adding=(3,), removing=(1,))
    ledger = cluster(moving, moving._replace(isr=(1, 2)))
    ledger.run(heal(ledger.image, epochs(ledger), (), DEFAULTS).commits)
    finished, running = states(ledger)
    assert (finished.replicas, finished.isr, finished.leader, finished.leader_epoch) == ((3, 2), (3, 2), 3, 8)
    assert not finished.adding
    assert not finished.removing
    assert running._replace(revision=0) == moving._replace(isr=(1, 2))


def test_a_move_that_takes_a_replica_away_fences_it_though_the_leader_stays() -> None:
    ledger = cluster(PartitionState((2, 1), (2, 1), 2, 7, 7, removing=(1,)))
    ledger.run(heal(ledger.image, epochs(ledger), (), DEFAULTS).commits)
    assert (state(ledger).replicas, state(ledger).leader, state(ledger).leader_epoch) == ((2,), 2, 8)


def test_elections_come_before_anything_that_can_wait() -> None:
    ledger = cluster(*[PartitionState((2, 1), (1, 2), 2)] * 150, *[PartitionState((1, 2), (1, 2), 1)] * 150)
    first, *_ = heal_steps(ledger.image, epochs(ledger, 2, 3), (), DEFAULTS)
    assert set(first.commit.puts) <= {partition_key(ID, index) for index in range(150, 300)}


def test_topics_that_are_known_to_be_well_are_not_looked_at() -> None:
    ledger = cluster(THREE)
    live = epochs(ledger, 2, 3)
    assert list(heal_steps(ledger.image, live, (), DEFAULTS, topics=())) == []
    (step,) = heal_steps(ledger.image, live, (), DEFAULTS, topics=list(ledger.image.topics.values()))
    assert step is not None


def test_whoever_looks_at_very_many_can_breathe() -> None:
    ledger = cluster(THREE)
    (well,) = ledger.image.topics.values()
    many = ledger.image._replace(topics={f"{index}": well for index in range(10_000)})
    found = list(heal_steps(many, epochs(ledger), (), DEFAULTS))
    assert len(found) > 5
    assert set(found) == {BREATH}


def test_many_partitions_fit_into_commits_that_a_deposed_controller_cannot_make() -> None:
    ledger = cluster(*[THREE] * 250)
    ledger.run([claim_control(ledger.image, 2, 1)])
    claim = ledger.image.controller
    assert claim is not None
    fence = {"controller": claim.revision}
    commits = heal(ledger.image, epochs(ledger, 2, 3), (), DEFAULTS, fence).commits
    assert [len(commit.puts) for commit in commits] == [99, 99, 52]
    ledger.run(commits[:1])
    ledger.run([claim_control(ledger.image, 3, 1)])
    with pytest.raises(AssertionError, match="conflict on controller"):
        ledger.run(commits[1:])
    ledger.run(heal(ledger.image, epochs(ledger, 2, 3), (), DEFAULTS).commits)
    assert all(each.leader == 2 and each.leader_epoch == 1 for each in states(ledger))


def test_a_decision_on_an_old_image_conflicts() -> None:
    ledger = cluster(THREE)
    commits = heal(ledger.image, epochs(ledger, 2, 3), (), DEFAULTS).commits
    ledger.run(heal(ledger.image, epochs(ledger, 3), (), DEFAULTS).commits)
    with pytest.raises(AssertionError, match="conflict on partitions/"):
        ledger.run(commits)


def test_only_orphans_that_are_abandoned_are_swept() -> None:
    ledger = Ledger(3)
    for name, topic_id in (("gone", bytes(16)), ("growing", ID)):
        creation = create_topic(ledger.image, ledger.live, NewTopic(name, 150, 1), topic_id, DEFAULTS)
        ledger.run(creation.commits[:1])
    ledger.run(heal(ledger.image, epochs(ledger), (), DEFAULTS, abandoned=[bytes(16)]).commits)
    assert list(ledger.image.orphans) == [ID]
    assert heal(ledger.image, epochs(ledger), (), DEFAULTS) == ([], 0)


def test_a_partition_that_the_store_lacks_is_passed_over() -> None:
    ledger = cluster(THREE)
    ledger.run([Commit({partition_key(ID, 0): None}, {})])
    assert heal(ledger.image, {}, (), DEFAULTS) == ([], 0)


def test_a_shutdown_moves_leaderships_and_leaves_those_that_nobody_can_take() -> None:
    ledger = cluster(THREE, PartitionState((1, 2), (1,), 1, elr=(2,)), PartitionState((2, 3), (2, 3), 2))
    live = epochs(ledger)
    ledger.run(shut_down(ledger.image, 1, live, [2], DEFAULTS))
    assert [each.leader for each in states(ledger)] == [3, 1, 2]
    assert states(ledger)[0].isr == (1, 2, 3)
    assert shut_down(ledger.image, 1, live, [2], DEFAULTS) == []
    ledger.run(heal(ledger.image, live, [1, 2], DEFAULTS).commits)
    assert [each.leader for each in states(ledger)] == [3, 1, 3]
