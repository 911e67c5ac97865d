import pytest
from partitions import DEFAULTS, cluster, epochs, states

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.cluster.entities import NO_LEADER, PartitionState
from headrace.cluster.leadership import balance_leaders, elect_leaders
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.replicas import ElectionType

AWAY = PartitionState((1, 2), (1, 2), 2)
HOME = PartitionState((1, 2), (1, 2), 1)
BEHIND = PartitionState((1, 2), (2,), 2)
LOST = PartitionState((1, 2), (3,), NO_LEADER)._replace(replicas=(1, 2, 3))


def test_leadership_goes_back_to_preferred_replicas_a_few_at_a_time() -> None:
    ledger = cluster(AWAY, AWAY, HOME, BEHIND, AWAY)
    ledger.run(balance_leaders(ledger.image, epochs(ledger), 2))
    assert [each.leader for each in states(ledger)] == [1, 1, 1, 2, 2]
    assert [each.leader_epoch for each in states(ledger)] == [1, 1, 0, 0, 0]


def test_leadership_does_not_go_back_to_who_is_dead_or_leaving() -> None:
    ledger = cluster(AWAY)
    assert balance_leaders(ledger.image, epochs(ledger, 2), 10) == []
    assert balance_leaders(ledger.image, epochs(ledger), 10, reluctant=[1]) == []


def ask(
    *given: PartitionState, kind: int, live: tuple[int, ...], named: bool = True
) -> tuple[dict[int, int], list[int]]:
    ledger = cluster(*given)
    places = [TopicPartition("t", index) for index in (*range(len(given)), 99)] if named else None
    outcomes, commits, _ = elect_leaders(ledger.image, epochs(ledger, *live), kind, places, DEFAULTS)
    ledger.run(commits)
    codes = {place.partition: int(outcome.code) for place, outcome in outcomes.items()}
    return codes, [each.leader for each in states(ledger)]


def test_preferred_elections() -> None:
    codes, leaders = ask(AWAY, HOME, BEHIND, kind=ElectionType.PREFERRED, live=(1, 2))
    assert codes == {
        0: 0,
        1: ErrorCode.ELECTION_NOT_NEEDED,
        2: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        99: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert leaders == [1, 1, 2]


def test_elections_of_all_partitions_do_not_list_those_that_need_none() -> None:
    codes, _ = ask(AWAY, HOME, kind=ElectionType.PREFERRED, live=(1, 2), named=False)
    assert codes == {0: 0}


def test_unclean_elections() -> None:
    codes, leaders = ask(LOST, HOME, kind=ElectionType.UNCLEAN, live=(1, 2))
    assert codes == {0: 0, 1: ErrorCode.ELECTION_NOT_NEEDED, 99: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert leaders == [1, 1]
    codes, leaders = ask(LOST, kind=ElectionType.UNCLEAN, live=(4,))
    assert codes[0] == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    assert leaders == [NO_LEADER]


def test_a_damaged_last_replica_leads_when_someone_insists_and_that_is_counted() -> None:
    ledger = cluster(PartitionState((1,), (1,), NO_LEADER, damaged=(1,)))
    elections = elect_leaders(ledger.image, epochs(ledger), 1, None, DEFAULTS)
    assert elections.unclean == 1
    ledger.run(elections.commits)
    assert (states(ledger)[0].leader, states(ledger)[0].damaged) == (1, ())


def test_an_unknown_kind_of_election_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        elect_leaders(cluster(HOME).image, {}, 2, None, DEFAULTS)
    assert refused.value.code == ErrorCode.INVALID_REQUEST
