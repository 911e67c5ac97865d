"""Coordinators that come and go: what is told of what was loaded, and by whom."""

from typing import Any

from headrace.cluster import elect
from headrace.cluster.records import encode, partition_key
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.group_offsets import OffsetFetchRequest, OffsetFetchRequestTopic
from sim.cluster import TOPIC
from sim.host import Host
from sim.test_coordinator_rules import commit_while_followers_are_cut_off
from sim.test_coordinators_in_trouble import FETCH, NAME, OFFSET, OFFSETS, Coordinated, cluster, three

__all__ = ["cluster"]


@three
def test_what_is_loaded_is_told_when_it_is_committed(cluster: Coordinated) -> None:
    assert commit_while_followers_are_cut_off(cluster) is None
    cluster.reload(OFFSETS)
    cluster.run(1.0)
    assert cluster.committed(2.0) is None, "a fail-over would take it back"
    cluster.world.network.mend_all()
    assert cluster.committed() is not None


@three
def test_one_whose_broker_leads_no_more_sends_everybody_away(cluster: Coordinated) -> None:
    """Its broker is alive, and would answer with an offset that another has replaced."""
    assert cluster.commit(OFFSET) == 0
    index = cluster.index_of(OFFSETS)
    state = cluster.checks.state(OFFSETS, index)
    host = cluster.world.hosts[state.leader - 1]
    assert host.node is not None
    former: Any = host.node.broker.coordinators.at(index)
    key = partition_key(cluster.checks.image().topics[OFFSETS].id, index)
    successor = next(each for each in state.isr if each != state.leader)
    cluster.world.shelf.commit({key: encode(elect.lead(state, successor))}, {key: state.revision})
    cluster.until(lambda: not former.partition.is_leader)
    answer = ask(cluster, host, former)
    assert answer.error_code == ErrorCode.NOT_COORDINATOR


def ask(cluster: Coordinated, host: Host, coordinator: Any) -> Any:
    request = OffsetFetchRequest(NAME, [OffsetFetchRequestTopic(TOPIC, [0])])
    answers: list[Any] = []

    async def fetch() -> None:
        coordinator.ask(request, FETCH, "", "", answers.append)

    assert host.loop is not None
    host.loop.create_task(fetch())
    cluster.run(1.0)
    return answers[0]
