"""A cluster with TLS, logins and rules under faults, its metadata in SQLite and in etcd: fail-over, groups of both kinds and
transactions keep the promises that they keep without, judged by the ledger.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from chaos.faults import PROCESS_FAULTS, Fault, bounce_leader, kill_controller, kill_leader
from chaos.guest import Guest
from chaos.members import Members
from chaos.secured import SecuredCluster
from chaos.transfers import Transfers
from chaos.world import DURABLE, World
from etcd_cluster import EtcdCluster, MissingEtcd

# Longer than what it waits for in turn: each wait has a time limit of its own, which says what it waited for.
pytestmark = pytest.mark.timeout(300)
# Sessions end in the midst of it all: clients and brokers log in again on connections that are at work.
SESSIONS = {"connections.max.reauth.ms": "10000"}


@pytest.fixture(params=["sqlite", "etcd"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with ExitStack() as stack:
        if request.param == "sqlite":
            yield ""
            return
        try:
            yield stack.enter_context(EtcdCluster(tmp_path / "etcd")).url("/headrace")
        except MissingEtcd as missing:
            pytest.skip(str(missing))


def world_of(data: Path, store: str, guests: list[Guest], topics: list[str]) -> World:
    cluster = SecuredCluster(data / "cluster", store, settings=SESSIONS)
    return World(cluster, dict.fromkeys(topics, DURABLE), guests=guests, burst_seconds=0.1)


def test_nothing_is_lost_behind_tls_and_logins(tmp_path: Path) -> None:
    with world_of(tmp_path, "", [Members("durable", "consumer")], ["durable"]) as world:
        for fault in (kill_controller, bounce_leader):
            world.suffer(fault)
        world.judge()


@pytest.mark.long
@pytest.mark.timeout(900)
def test_every_client_keeps_its_promises(store: str, tmp_path: Path) -> None:
    guests = [Members("durable", "classic"), Members("relaxed", "consumer"), Transfers()]
    with world_of(tmp_path, store, guests, ["durable", "relaxed"]) as world:
        faults: list[Fault] = [kill_leader, kill_controller, bounce_leader, *PROCESS_FAULTS]
        for fault in faults:
            world.suffer(fault)
        world.judge()
