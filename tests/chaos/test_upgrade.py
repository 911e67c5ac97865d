"""A rolling upgrade from the last release to the working tree and the way back, under load and beside every kind of client.

Brokers of both versions serve together all the while; what was acknowledged by either is there at the end.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.administration import Administration
from chaos.cluster import Cluster
from chaos.keyed import Keyed
from chaos.members import Members
from chaos.releases import TODAY, Versions, has_sources, last_release, sources_of
from chaos.transfers import Transfers
from chaos.world import World

pytestmark = [
    pytest.mark.skipif(not has_sources(last_release()), reason="the last release is not in this repository's history"),
    pytest.mark.long,
    pytest.mark.timeout(0),
]

BURST_SECONDS = 0.1


Change = Callable[[World, Versions, Path], None]


def one_by_one(world: World, versions: Versions, sources: Path) -> None:
    _each(world, versions, sources, world.cluster.stop)


def after_kills(world: World, versions: Versions, sources: Path) -> None:
    """Each version has to open what the other did not close."""
    _each(world, versions, sources, world.cluster.kill)


def all_at_once(world: World, versions: Versions, sources: Path) -> None:
    world.cluster.stop(*world.cluster.ids)
    versions.change(sources, *world.cluster.ids)
    world.cluster.start(*world.cluster.ids)


def _each(world: World, versions: Versions, sources: Path, end: Callable[[int], None]) -> None:
    for broker in world.rng.sample(world.cluster.ids, k=3):
        world.cluster.until_whole(world.places)
        end(broker)
        world.until_progress()
        world.a_moment(1, 3)
        versions.change(sources, broker)
        world.cluster.start(broker)
        world.until_progress()
        world.a_moment(1, 3)


@pytest.mark.parametrize("change", [one_by_one, after_kills, all_at_once])
def test_brokers_are_upgraded_rolled_back_and_upgraded_again(change: Change, tmp_path: Path) -> None:
    release = sources_of(last_release(), tmp_path / "release")
    versions = Versions(release)
    guests = [
        Transfers(),
        Members("durable", "classic"),
        Members("rolled", "consumer"),
        Administration(["durable", "relaxed", "rolled"]),
        Keyed(),
    ]
    with World(Cluster(tmp_path / "data", versions.hosts()), guests=guests, burst_seconds=BURST_SECONDS) as world:
        assert versions.loaded_by(1) == release / "headrace"
        for sources in (TODAY, release, TODAY):
            print(f"all go on from {sources}")
            change(world, versions, sources)
            world.until_progress()
            world.a_moment(2, 4)
        world.judge()
