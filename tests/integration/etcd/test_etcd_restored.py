"""etcd restored from an older copy while stores are open on it: whoever had seen more is told so, and does not go on."""

import asyncio
import shutil
from pathlib import Path

import pytest

from chaos.cluster import Cluster, Host
from etcd_cluster import EtcdCluster, MissingEtcd
from headrace.base.errors import UserError
from headrace.cluster.store import StoreWentBack
from headrace.stores.etcd import EtcdStore
from store_world import first


class Copied:
    """One member, and the copy of its data that it is put back to."""

    def __init__(self, folder: Path) -> None:
        try:
            self.etcd = EtcdCluster(folder, 1)
        except MissingEtcd as missing:
            pytest.skip(str(missing))
        self.data, self.copy = self.etcd.members[0].folder / "data", folder / "copy"

    def keep(self) -> None:
        self._while_stopped(self.data, self.copy)

    def put_back(self) -> None:
        self._while_stopped(self.copy, self.data)

    def _while_stopped(self, source: Path, target: Path) -> None:
        self.etcd.kill(0)
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        self.etcd.start(0)
        self.etcd.until_ready()


@pytest.mark.parametrize("others_go_on", [False, True])
def test_a_store_that_had_seen_more_is_told(tmp_path: Path, others_go_on: bool) -> None:
    place = Copied(tmp_path)

    async def tell() -> None:
        ahead = await EtcdStore.open(place.etcd.url(), deadline_s=20)
        await ahead.commit({"a": b"1"}, {})
        await asyncio.to_thread(place.keep)
        for number in range(3):
            last = await ahead.commit({"a": b"gone %d" % number}, {})
        assert (await ahead.load()).revision == last
        watching = asyncio.create_task(first(ahead.watch(last)))
        await asyncio.sleep(0.1)
        await asyncio.to_thread(place.put_back)
        if others_go_on:
            other = await EtcdStore.open(place.etcd.url(), deadline_s=20)
            # Leases make revisions too, so that a commit of this history has the number of none of the other.
            await other.acquire("controller", "broker 2", 1, 60_000)
            for number in range(20):
                await other.acquire(f"broker/{number}", "broker 2", 1, 60_000)
            newest = await other.commit({"a": b"other"}, {})
            assert newest > last
            await other.close()
        with pytest.raises(StoreWentBack, match="restored from an older copy") as refused:
            await watching
        assert "docs/etcd.md" in refused.value.fix
        assert isinstance(refused.value, UserError)
        if not others_go_on:
            with pytest.raises(StoreWentBack):
                await ahead.load()
            with pytest.raises(StoreWentBack):
                await ahead.commit({"b": b"1"}, {})
        await ahead.close()
        again = await EtcdStore.open(place.etcd.url(), deadline_s=20)
        assert (await again.load()).entries["a"].value in (b"1", b"other")
        await again.close()

    with place.etcd:
        asyncio.run(tell())


def test_a_broker_that_had_seen_more_stops_and_says_what_to_do(tmp_path: Path) -> None:
    place = Copied(tmp_path / "etcd")
    alone = {"default.replication.factor": "1", "min.insync.replicas": "1"}
    with place.etcd, Cluster(tmp_path / "data", [Host(1)], place.etcd.url(), alone, log_level="error") as cluster:
        cluster.create_topic("kept", 1, {}, copies=1)
        place.keep()
        cluster.create_topic("gone", 1, {}, copies=1)
        place.put_back()
        told = cluster.until_dead(1)
        assert "restored from an older copy" in str(told), told
        assert "docs/etcd.md" in told.fix
        cluster.start(1)
        assert {"kept"} == {name for name in cluster.metadata().topics if not name.startswith("_")}
