import pytest
from ledger import Ledger
from partitions import DEFAULTS, ID, cluster, epochs, state, states

from headrace.base.errors import Refused
from headrace.cluster.decide import heal
from headrace.cluster.entities import FENCED, NO_LEADER, Broker, PartitionState
from headrace.cluster.isr import alter_isr
from headrace.cluster.registration import next_epoch
from headrace.cluster.rejoin import EPOCHS_APART, Doubt, rejoin

RELAXED = {"flush.messages": "1000"}
DAMAGED = {(ID, 0): Doubt.DAMAGED}


def come_back(
    ledger: Ledger,
    broker_id: int,
    *doubtful: int,
    doubt: Doubt = Doubt.DAMAGED,
    lost_page_cache: bool = False,
    live: tuple[int, ...] = (),
) -> int:
    """As a broker does it; the number of unclean elections."""
    me = ledger.image.brokers[broker_id]._replace(epoch=next_epoch(ledger.image))
    doubts = {(ID, index): doubt for index in doubtful}
    while True:
        alive = {each: ledger.image.brokers[each].epoch for each in live}
        step = rejoin(ledger.image, me, doubts, lost_page_cache, DEFAULTS, alive)
        ledger.run(step.commits)
        if step.broker is not None:
            assert ledger.image.brokers[broker_id].epoch == step.broker.epoch == me.epoch
            return step.unclean


def test_a_restarted_leader_never_goes_on_in_its_old_epoch() -> None:
    ledger = cluster(PartitionState((1, 2), (1, 2), 1, 5, 5), PartitionState((1,), (1,), 1, 5, 5))
    come_back(ledger, 1, live=(2,))
    first, second = states(ledger)
    assert (first.leader, first.leader_epoch, first.isr) == (2, 6, (1, 2))
    assert (second.leader, second.leader_epoch, second.isr) == (NO_LEADER, 6, (1,))
    ledger.run(heal(ledger.image, epochs(ledger), (), DEFAULTS).commits)
    assert (states(ledger)[1].leader, states(ledger)[1].leader_epoch) == (1, 7)


def test_a_damaged_replica_leaves_isr_and_elr() -> None:
    ledger = cluster(
        PartitionState((1, 2, 3), (1, 2, 3), 2),
        PartitionState((1, 2, 3), (2,), 2, elr=(1, 3)),
        PartitionState((1, 2, 3), (1, 2, 3), 2),
    )
    assert come_back(ledger, 1, 0, 1) == 0
    assert [(each.isr, each.elr) for each in states(ledger)] == [((2, 3), ()), ((2,), (3,)), ((1, 2, 3), ())]


def test_the_last_in_sync_replica_stays_offline_when_damaged_until_someone_insists() -> None:
    ledger = cluster(PartitionState((1, 2), (1,), 1))
    assert come_back(ledger, 1, 0) == 0
    assert (state(ledger).leader, state(ledger).isr, state(ledger).damaged) == (NO_LEADER, (1,), (1,))
    assert heal(ledger.image, epochs(ledger), (), DEFAULTS) == ([], 0)
    # Another restart finds nothing wrong any more: what was cut is cut.
    come_back(ledger, 1)
    assert heal(ledger.image, epochs(ledger), (), DEFAULTS) == ([], 0)


def test_of_several_that_are_unsure_the_last_in_sync_leads() -> None:
    """A power cut reordered, on both, what was never acknowledged: each of them found a hole."""
    ledger = cluster(PartitionState((1, 2), (1, 2), NO_LEADER))
    assert come_back(ledger, 2, 0, doubt=Doubt.UNSURE) == 0
    assert (state(ledger).isr, state(ledger).damaged) == ((1,), ())
    assert come_back(ledger, 1, 0, doubt=Doubt.UNSURE) == 0
    assert (state(ledger).isr, state(ledger).damaged) == ((1,), ())
    ledger.run(heal(ledger.image, epochs(ledger), (), DEFAULTS).commits)
    assert state(ledger).leader == 1


def test_the_last_in_sync_that_is_unsure_gives_its_place_to_one_that_is_eligible() -> None:
    """Whoever left the in-sync set while too few stayed in it has every committed record too."""
    ledger = cluster(PartitionState((1, 2, 3), (1,), 1, elr=(2,)))
    assert come_back(ledger, 1, 0, doubt=Doubt.UNSURE, live=(1, 2)) == 0
    assert (state(ledger).isr, state(ledger).elr, state(ledger).leader) == ((2,), (), 2)
    ledger = cluster(PartitionState((1, 2, 3), (1,), 1, elr=(2,)))
    assert come_back(ledger, 1, 0, doubt=Doubt.UNSURE) == 0
    assert (state(ledger).isr, state(ledger).leader) == ((2,), NO_LEADER)
    assert come_back(ledger, 2, 0, doubt=Doubt.UNSURE) == 0
    assert state(ledger).isr == (2,)


def test_on_a_relaxed_topic_one_that_is_unsure_has_lost_its_page_cache_all_the_same() -> None:
    ledger = cluster(PartitionState((1, 2), (1,), 1, elr=(2,)), config=RELAXED)
    assert come_back(ledger, 1, 0, doubt=Doubt.UNSURE, lost_page_cache=True) == 1
    assert (state(ledger).isr, state(ledger).elr) == ((1,), ())


@pytest.mark.parametrize(("config", "isr", "unclean"), [(RELAXED, (2,), 0), ({}, (1, 2), 0)])
def test_after_a_power_loss_relaxed_partitions_do_not_count_on_it(
    config: dict[str, str], isr: tuple[int, ...], unclean: int
) -> None:
    ledger = cluster(PartitionState((1, 2), (1, 2), 2), config=config)
    assert come_back(ledger, 1, lost_page_cache=True) == unclean
    assert state(ledger).isr == isr


def test_the_last_in_sync_replica_of_a_relaxed_partition_leads_again_and_that_is_counted() -> None:
    ledger = cluster(PartitionState((1, 2), (1,), 1, elr=(2,)), config=RELAXED)
    assert come_back(ledger, 1, lost_page_cache=True) == 1
    assert (state(ledger).isr, state(ledger).elr, state(ledger).leader) == ((1,), (), NO_LEADER)
    ledger.run(heal(ledger.image, epochs(ledger), (), DEFAULTS).commits)
    assert state(ledger).leader == 1


def test_a_process_that_died_alone_keeps_its_place_and_needs_one_commit() -> None:
    ledger = cluster(PartitionState((1, 2), (1, 2), 2), config=RELAXED)
    before = ledger.image.revision
    come_back(ledger, 1)
    assert ledger.image.revision == before + 1
    assert state(ledger).isr == (1, 2)


def test_a_leader_cannot_add_what_an_earlier_life_had_fetched() -> None:
    ledger = cluster(PartitionState((1, 2), (2,), 2))
    old = ledger.image.brokers[1]
    add = alter_isr(ledger.image, ID, 0, state(ledger), (1, 2), {1: old.epoch}, DEFAULTS)
    fenced = rejoin(ledger.image, old._replace(epoch=50), DAMAGED, False, DEFAULTS)
    assert fenced.broker is None
    ledger.run(fenced.commits)
    assert ledger.image.brokers[1].epoch == FENCED
    with pytest.raises(AssertionError, match="conflict on brokers/1"):
        ledger.run([add])
    with pytest.raises(Refused):
        alter_isr(ledger.image, ID, 0, state(ledger), (1, 2), {1: old.epoch}, DEFAULTS)


def test_many_partitions_are_given_up_before_the_broker_is_registered() -> None:
    ledger = cluster(*[PartitionState((1, 2), (1, 2), 1)] * 250)
    me = ledger.image.brokers[1]._replace(epoch=next_epoch(ledger.image))
    commits = rejoin(ledger.image, me, {}, False, DEFAULTS).commits
    assert [("brokers/1" in commit.puts, len(commit.puts)) for commit in commits] == [
        (False, 99),
        (False, 99),
        (True, 53),
    ]
    ledger.run(commits)
    assert all(each.leader == NO_LEADER for each in states(ledger))


def test_a_broker_from_another_directory_is_refused_before_anything_is_written() -> None:
    ledger = Ledger(0)
    ledger.run(rejoin(ledger.image, Broker(1, 0, "h", 1, directory_id="a"), {}, False, DEFAULTS).commits)
    with pytest.raises(Refused):
        rejoin(ledger.image, Broker(1, 0, "h", 1, directory_id="b"), DAMAGED, True, DEFAULTS)


def test_a_fresh_epoch_is_found_for_a_broker_without_one() -> None:
    ledger = cluster(PartitionState((1, 2), (1, 2), 2))
    ledger.run(rejoin(ledger.image, ledger.image.brokers[1]._replace(epoch=0), DAMAGED, False, DEFAULTS).commits)
    step = rejoin(ledger.image, ledger.image.brokers[2]._replace(id=1, epoch=0), DAMAGED, False, DEFAULTS)
    assert step.broker is not None
    assert step.broker.epoch == next_epoch(ledger.image)


def test_after_a_power_loss_a_relaxed_internal_topic_does_not_count_on_it_either() -> None:
    ledger = cluster(PartitionState((1, 2), (1, 2), 2), config=RELAXED, name="__consumer_offsets")
    come_back(ledger, 1, lost_page_cache=True)
    assert state(ledger).isr == (2,)


def test_a_log_with_later_epochs_than_the_store_raises_the_leader_epoch_above_them() -> None:
    ledger = cluster(PartitionState((1, 2), (1, 2), 1, 5, 5), PartitionState((1, 2), (1, 2), 2, 5, 5))
    me = ledger.image.brokers[1]._replace(epoch=next_epoch(ledger.image))
    named = {(ID, 0): 8, (ID, 1): 5}
    ledger.run(rejoin(ledger.image, me, {}, False, DEFAULTS, {}, named).commits)
    first, second = states(ledger)
    assert (first.leader, first.leader_epoch, first.isr) == (NO_LEADER, 8 + EPOCHS_APART + 1, (1, 2))
    assert (second.leader, second.leader_epoch) == (2, 5)


def test_a_leader_that_came_back_first_goes_on_above_the_epochs_of_a_later_one() -> None:
    ledger = cluster(PartitionState((1, 2), (1,), 2, 7, 7)._replace(isr=(1, 2)))
    me = ledger.image.brokers[1]._replace(epoch=next_epoch(ledger.image))
    ledger.run(rejoin(ledger.image, me, {}, False, DEFAULTS, {}, {(ID, 0): 9}).commits)
    assert (state(ledger).leader, state(ledger).leader_epoch) == (2, 9 + EPOCHS_APART)
