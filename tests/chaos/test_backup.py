"""Backups that are made while brokers die and every kind of client works, each brought into a cluster of its own.

What a backup holds of a partition is how it began; its groups are no further than it; and of what a group has moved on in
transactions nothing is missing in the target.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chaos.cluster import Cluster
from chaos.faults import Fault, bounce_leader, kill_controller, kill_leader, pause_leader
from chaos.keyed import Keyed
from chaos.ledger import Found, Place
from chaos.members import Members
from chaos.reader import read_all
from chaos.transfers import GROUP, PARTITIONS, SOURCE, TARGET, Transfers
from chaos.world import World
from headrace.admin.admin import Admin
from headrace.admin.lag import committed_by
from headrace.base.bootstrap import parse_bootstrap
from headrace.cli import app

FAULTS: tuple[Fault, ...] = (kill_leader, bounce_leader, kill_controller, pause_leader)
BURST_SECONDS = 0.1


@pytest.mark.long
@pytest.mark.timeout(0)
def test_backups_of_a_cluster_in_trouble_are_true(tmp_path: Path) -> None:
    guests = [Transfers(), Members("durable", "classic"), Members("rolled", "consumer"), Keyed()]
    folder = tmp_path / "backups"
    with World(Cluster(tmp_path / "data"), guests=guests, burst_seconds=BURST_SECONDS) as world:
        with ThreadPoolExecutor(1) as trouble:
            for fault in FAULTS:
                suffered = trouble.submit(world.suffer, fault)
                assert app.run(["backup", "create", str(folder), "--bootstrap", world.cluster.bootstrap]) == 0
                suffered.result()
        places = [*world.places, *((topic, number) for topic in (SOURCE, TARGET) for number in range(PARTITIONS))]
        now = read_all(world.cluster.bootstrap, places, isolation_level="read_committed")
        world.judge()
    assert app.run(["backup", "list", str(folder), "--verify"]) == 0
    for path in sorted(folder.glob("backups/*.json")):
        with Cluster(tmp_path / path.stem) as restored:
            words = ["--backup", path.stem, "--yes", "--bootstrap", restored.bootstrap]
            assert app.run(["backup", "restore", str(folder), *words]) == 0
            judge(now, restored.bootstrap)


def judge(now: dict[Place, list[Found]], restored: str) -> None:
    then = read_all(restored, now, isolation_level="read_committed")
    for place, records in now.items():
        assert then[place] == records[: len(then[place])], place
    for partition in range(PARTITIONS):
        moved = [record.written for record in then[TARGET, partition]]
        assert moved == [record.written for record in now[SOURCE, partition]][: len(moved)]
        assert len(moved) >= offsets_of(GROUP, restored).get((SOURCE, partition), 0), "moved on, and not there"
    for group in ("members-classic", "members-consumer"):
        offsets = offsets_of(group, restored)
        assert offsets, "each group had committed something by then"
        assert {place: at for place, at in offsets.items() if at > len(then[place])} == {}


def offsets_of(group: str, bootstrap: str) -> dict[Place, int]:
    async def ask() -> dict[Place, int]:
        admin = Admin(parse_bootstrap(bootstrap), "judge")
        try:
            return {(id.topic, id.partition): each.offset for id, each in (await committed_by(admin, group)).items()}
        finally:
            admin.close()

    return asyncio.run(ask())
