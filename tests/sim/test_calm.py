"""The calm is calm: what a fault has begun does no harm after everything is mended."""

from random import Random

import pytest

from sim.cluster import Cluster
from sim.faults import Fault, Faults
from sim.scenarios import SCENARIOS

FAULTS = sorted({fault for faults in SCENARIOS.values() for fault in faults}, key=lambda fault: fault.__name__)
HARM = ("is killed", "loses power", "stands still", "is asked to stop", "cut for", "out of reach", "hangs", "will fail")
LONGER_THAN_ANY_SECONDS = 15.0


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_no_fault_reaches_into_the_calm(fault: Fault) -> None:
    cluster = Cluster(3, fault.__name__)
    try:
        _begin_and_heal(cluster, fault)
    finally:
        cluster.world.end()


def _begin_and_heal(cluster: Cluster, fault: Fault) -> None:
    cluster.start()
    cluster.create_topic(min_insync_replicas="2")
    cluster.produce(1.0)
    faults = Faults(cluster.world, cluster.checks, Random(1))
    fault(faults)
    told = len(cluster.world.lines)
    faults.heal()
    cluster.run(LONGER_THAN_ANY_SECONDS)
    after = [line for line in cluster.world.lines[told:] if any(word in line for word in HARM)]
    assert after == []
    assert all(host.is_serving and not host.is_stopping for host in cluster.world.hosts)
    assert faults.are_admins_done
