"""Files that were damaged between kill and start: the replica fetches again what it lost, and leads nothing before."""

import time
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.damage import DAMAGES, Damage, cut_the_log, flip_a_bit, remove_the_log
from chaos.world import RELAXED, World

# Longer than what it waits for in turn: each wait has a time limit of its own, which says what it waited for.
pytestmark = pytest.mark.timeout(300)

# One segment each: a new one that begins with the last checkpoint is all above the recovery point, and what is lost of it
# looks like the torn end of a crash.
_ONE_SEGMENT = {"segment.bytes": str(1 << 30)}
TOPICS = {"durable": _ONE_SEGMENT, "relaxed": RELAXED | _ONE_SEGMENT}


@pytest.mark.long
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_replica_is_made_whole_by_the_others(damage: Damage, tmp_path: Path) -> None:
    with World(Cluster(tmp_path), TOPICS) as world:
        victim = world.any_leader()
        checkpoint(world, victim)
        world.cluster.kill(victim)
        harm(world, damage, victim)
        world.until_progress()
        world.cluster.start(victim)
        world.judge()


@pytest.mark.parametrize(
    "damage",
    [
        cut_the_log,
        pytest.param(flip_a_bit, marks=pytest.mark.long),
        pytest.param(remove_the_log, marks=pytest.mark.long),
    ],
    ids=lambda damage: damage.__name__,
)
def test_a_damaged_replica_does_not_lead_because_it_is_back_first(damage: Damage, tmp_path: Path) -> None:
    with World(Cluster(tmp_path), TOPICS) as world:
        victim = world.any_broker()
        others = [broker for broker in world.cluster.ids if broker != victim]
        checkpoint(world, victim)
        world.cluster.kill(*world.cluster.ids)
        harm(world, damage, victim)
        world.cluster.start(victim)
        # Long enough to take control and elect: there is nobody else to wait for.
        time.sleep(2)
        leaders = world.cluster.leaders()
        assert [leaders[place] for place in world.places] == [-1] * len(world.places)
        world.cluster.start(*others)
        world.judge()


def harm(world: World, damage: Damage, victim: int) -> None:
    for place in world.places:
        damage(world.cluster.folder(victim), place, world.rng)


def checkpoint(world: World, broker: int) -> None:
    """A clean stop writes down how far its logs are on disk: what is lost below that is not the torn end of a crash."""
    world.a_moment(1.0, 1.5)
    world.cluster.stop(broker)
    world.cluster.start(broker)
    world.cluster.until_whole(world.places)
