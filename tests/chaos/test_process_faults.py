"""Three brokers under kill -9, SIGSTOP and SIGTERM, with their metadata in SQLite.

Short: the faults of a kind one after the other. Long: each fault again and again, and all of them in a storm.
"""

import time
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.faults import (
    SQLITE_FAULTS,
    Fault,
    bounce_each,
    kill_all,
    kill_leader,
    kill_leader_and_controller,
    pause_all,
    pause_in_a_write,
    pause_leader,
)
from chaos.world import World

# Longer than what it waits for in turn: each wait has a time limit of its own, which says what it waited for.
pytestmark = pytest.mark.timeout(300)

SHORT: dict[str, list[Fault]] = {
    "kill": [kill_leader, kill_leader_and_controller, kill_all],
    "pause": [pause_leader, pause_in_a_write, pause_all],
    "bounce": [bounce_each],
}
ROUNDS = 4
STORM_SECONDS = 180


@pytest.mark.parametrize("kind", SHORT)
def test_nothing_is_lost(kind: str, tmp_path: Path) -> None:
    with World(Cluster(tmp_path)) as world:
        for fault in SHORT[kind]:
            world.suffer(fault)
        world.judge()


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("fault", SQLITE_FAULTS, ids=lambda fault: fault.__name__)
def test_nothing_is_lost_however_often(fault: Fault, tmp_path: Path) -> None:
    with World(Cluster(tmp_path)) as world:
        for _ in range(ROUNDS):
            world.suffer(fault)
        world.judge()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nothing_is_lost_in_a_storm(tmp_path: Path) -> None:
    """Nobody waits for all to be in sync again between two faults."""
    with World(Cluster(tmp_path)) as world:
        end = time.monotonic() + STORM_SECONDS
        while time.monotonic() < end:
            world.suffer(world.rng.choice(SQLITE_FAULTS))
        world.judge()
