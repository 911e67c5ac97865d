"""Three brokers under kill -9, SIGSTOP and SIGTERM, with their metadata in SQLite: each fault by itself, then mixed."""

from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.faults import PROCESS_FAULTS, Fault
from chaos.world import World

by_name = pytest.mark.parametrize("fault", PROCESS_FAULTS, ids=lambda fault: fault.__name__)


@by_name
def test_nothing_is_lost(fault: Fault, tmp_path: Path) -> None:
    play(Cluster(tmp_path), [fault])


def play(cluster: Cluster, faults: list[Fault]) -> None:
    with World(cluster) as world:
        for fault in faults:
            world.a_moment()
            print(f"fault: {fault.__name__}")
            fault(world)
            world.until_progress()
        world.judge()
