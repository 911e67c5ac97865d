"""A coordinator that has read its log anew: what it loaded is told when it is committed, and not before."""

from sim.test_coordinator_rules import commit_while_followers_are_cut_off
from sim.test_coordinators_in_trouble import OFFSETS, Coordinated, cluster, three

__all__ = ["cluster"]


@three
def test_what_is_loaded_is_told_when_it_is_committed(cluster: Coordinated) -> None:
    assert commit_while_followers_are_cut_off(cluster) is None
    cluster.reload(OFFSETS)
    cluster.run(1.0)
    assert cluster.committed(2.0) is None, "a fail-over would take it back"
    cluster.world.network.mend_all()
    assert cluster.committed() is not None
