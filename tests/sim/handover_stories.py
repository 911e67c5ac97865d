"""Stories of leaders that hand over, by an election that nobody died for, with a tail that nobody else has.

The one before is cut off from the other brokers but not from clients and the store, so it goes on taking what it cannot
commit. Then another leads; it hears so, and cuts, while everybody is in sync all the time.
"""

from sim.host import Host
from sim.story import BusyCluster, Story


def _grow_a_tail(cluster: BusyCluster) -> tuple[Host, Host]:
    """The leader, with a tail on its disk, still cut off; and who leads next."""
    leader, successor = cluster.leader, cluster.follower_hosts[0]
    cluster.cut_off(leader)
    cluster.run(cluster.rng.uniform(0.05, 0.4))
    partition = cluster.partition(leader.id)
    cluster.until(lambda: partition.high_watermark < partition.log.sync.synced_end == partition.log.end_offset)
    return leader, successor


def a_leader_hands_over_with_a_tail(cluster: BusyCluster) -> None:
    """Others' records take the offsets of those that wait for an ack of it."""
    _, successor = _grow_a_tail(cluster)
    cluster.decide(successor)
    cluster.add_producers(3)
    cluster.world.network.mend_all()
    cluster.watch(3.0)
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_successor_dies_while_the_tail_is_cut(cluster: BusyCluster) -> None:
    former, successor = _grow_a_tail(cluster)
    cluster.decide(successor)
    cluster.add_producers(3)
    former.slowness = 100.0
    cluster.world.network.mend_all()
    cluster.run(cluster.rng.uniform(0.05, 1.0))
    cluster.kill(successor)
    cluster.run(2.0)
    former.slowness = 1.0
    cluster.world.start(successor)
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_leader_is_back_before_its_tail_is_cut(cluster: BusyCluster) -> None:
    """It was told to cut, and waits for its disk; meanwhile it leads again, and the tail is everybody's."""
    former, successor = _grow_a_tail(cluster)
    partition = cluster.partition(former.id)
    cluster.decide(successor)
    cluster.until(lambda: cluster.partition(successor.id).is_leader and not partition.is_leader)
    former.slowness = cluster.rng.uniform(100, 400)
    cluster.world.network.mend_all()
    cluster.run(cluster.rng.uniform(0.01, 0.15))
    if former.id in cluster.state.isr:
        cluster.decide(former)
    cluster.run(2.0)
    former.slowness = 1.0
    cluster.until(lambda: len(cluster.state.isr) == 3)
    cluster.run(1.0)


def a_leader_hands_over_a_tail_that_is_on_no_disk(cluster: BusyCluster) -> None:
    """Its disk is slow. What the others commit meanwhile has the offsets of its tail, which nobody may take for theirs."""
    former, successor = cluster.leader, cluster.follower_hosts[0]
    former.slowness = 4000.0
    cluster.run(0.5)
    cluster.cut_off(former)
    cluster.add_producers(2)
    cluster.run(cluster.rng.uniform(0.2, 0.5))
    cluster.decide(successor)
    cluster.add_producers(2)
    cluster.world.network.mend_all()
    cluster.watch(6.0)
    former.slowness = 1.0
    # Work that its disk began while it was slow may still take minutes.
    cluster.stop_producers()
    cluster.run(max(0.0, former.slow_until - cluster.agenda.now))
    cluster.until(lambda: len(cluster.state.isr) == 3)


def a_fetch_of_an_earlier_epoch_comes_late(cluster: BusyCluster) -> None:
    """It names what a follower has cut since, for a leader that did not keep it. Then the one before leads again, with all
    of its tail, and hears that fetch first."""
    former, follower, successor = cluster.leader, *cluster.follower_hosts
    network, log = cluster.world.network, cluster.partition(follower.id).log
    network.slow_down(follower.address, former.address, 8000)
    cluster.cut_off(former, successor)
    cluster.add_producers(1)
    cluster.until(lambda: log.sync.synced_end > cluster.partition(successor.id).log.end_offset)
    cluster.run(cluster.rng.uniform(0.01, 0.1))
    cuts = log.sync.truncations
    cluster.decide(successor)
    cluster.until(lambda: log.sync.truncations > cuts)
    cluster.decide(former)
    network.mend(former.address, successor.address)
    network.mend(successor.address, former.address)
    cluster.run(8.0)
    network.mend_all()
    cluster.until(lambda: len(cluster.state.isr) == 3)


TAIL = Story(a_leader_hands_over_with_a_tail)
SUCCESSOR_DIES = Story(a_successor_dies_while_the_tail_is_cut)
BACK = Story(a_leader_is_back_before_its_tail_is_cut)

UNSYNCED = Story(a_leader_hands_over_a_tail_that_is_on_no_disk, {"log.disk.hang.timeout.ms": "0"})
LATE_FETCH = Story(a_fetch_of_an_earlier_epoch_comes_late)

HANDOVER_STORIES = (TAIL, SUCCESSOR_DIES, BACK, UNSYNCED, LATE_FETCH)
