"""Who has no room to lead, and that others lead instead."""

from ledger import Ledger
from partitions import DEFAULTS, cluster, epochs, state

from headrace.cluster.decide import heal
from headrace.cluster.entities import PartitionState
from headrace.cluster.leadership import balance_leaders, elect_leaders
from headrace.cluster.records import broker_key, encode
from headrace.cluster.room import full_brokers, reluctant_leaders, say_full
from headrace.cluster.store import Commit
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.replicas import ElectionType

THREE = PartitionState((1, 2, 3), (1, 2, 3), 1)


def say(ledger: Ledger, broker_id: int, is_full: bool = True) -> None:
    ledger.run(say_full(ledger.image, broker_id, ledger.image.brokers[broker_id].epoch, is_full))


def put_on_disk(ledger: Ledger, disk_id: str, *broker_ids: int) -> None:
    for each in broker_ids:
        known = ledger.image.brokers[each]
        ledger.run([Commit({broker_key(each): encode(known._replace(disk_id=disk_id))}, {})])


def healed(ledger: Ledger) -> PartitionState:
    live = epochs(ledger)
    ledger.run(heal(ledger.image, live, reluctant_leaders(ledger.image.brokers, live), DEFAULTS).commits)
    return state(ledger)


def test_a_full_broker_hands_over_and_stays_in_sync() -> None:
    ledger = cluster(THREE)
    say(ledger, 1)
    assert (healed(ledger).leader, healed(ledger).isr) == (2, (1, 2, 3))


def test_where_all_in_sync_are_full_the_leader_stays() -> None:
    ledger = cluster(THREE._replace(isr=(1, 2)))
    say(ledger, 1)
    say(ledger, 2)
    assert healed(ledger).leader == 1
    say(ledger, 2, False)
    assert healed(ledger).leader == 2


def test_brokers_on_one_disk_are_full_from_the_first_word_to_the_last() -> None:
    ledger = cluster(THREE)
    put_on_disk(ledger, "one", 1, 2, 3)
    say(ledger, 1)
    say(ledger, 2)
    assert full_brokers(ledger.image.brokers, epochs(ledger)) == {1, 2, 3}
    assert healed(ledger).leader == 1
    say(ledger, 1, False)
    assert full_brokers(ledger.image.brokers, epochs(ledger)) == {1, 2, 3}
    say(ledger, 2, False)
    assert full_brokers(ledger.image.brokers, epochs(ledger)) == frozenset()


def test_the_last_word_of_a_dead_broker_does_not_count() -> None:
    ledger = cluster(THREE)
    put_on_disk(ledger, "one", 1, 2, 3)
    say(ledger, 1)
    assert full_brokers(ledger.image.brokers, epochs(ledger, 2, 3)) == frozenset()


def test_leaders_do_not_go_back_to_a_full_preferred_replica() -> None:
    ledger = cluster(THREE._replace(leader=2))
    say(ledger, 1)
    live = epochs(ledger)
    full = full_brokers(ledger.image.brokers, live)
    assert balance_leaders(ledger.image, live, 10, full) == []
    outcomes, commits, _ = elect_leaders(ledger.image, live, ElectionType.PREFERRED, None, DEFAULTS, full=full)
    (outcome,) = outcomes.values()
    assert outcome.code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    assert "no room" in outcome.message
    assert commits == []


def test_an_election_that_somebody_asks_for_moves_between_two_full_brokers() -> None:
    ledger = cluster(THREE._replace(leader=2))
    say(ledger, 1)
    say(ledger, 2)
    live = epochs(ledger)
    full = full_brokers(ledger.image.brokers, live)
    ledger.run(elect_leaders(ledger.image, live, ElectionType.PREFERRED, None, DEFAULTS, full=full).commits)
    assert state(ledger).leader == 1


def test_a_word_of_another_life_is_not_written() -> None:
    ledger = cluster(THREE)
    epoch = ledger.image.brokers[1].epoch
    assert say_full(ledger.image, 1, epoch + 1, True) == []
    assert say_full(ledger.image, 1, epoch, False) == []
    assert say_full(ledger.image, 9, epoch, True) == []
