"""Stores on one real etcd, where time passes by itself."""

import asyncio
from collections.abc import Mapping

from etcd_cluster import EtcdCluster
from eventually import until_async
from headrace.cluster.store import Lease, MetaStore
from headrace.stores.etcd import EtcdStore
from store_world import World


class EtcdWorld(World):
    def __init__(self, cluster: EtcdCluster, prefix: str, deadline_s: float = 20) -> None:
        super().__init__()
        self.cluster = cluster
        self.url = cluster.url(prefix)
        self.deadline_s = deadline_s

    async def connect(self) -> EtcdStore:
        return await EtcdStore.open(self.url, deadline_s=self.deadline_s)

    async def let_pass(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def until_run_out(self, lease: Lease, renewing: Mapping[Lease, MetaStore] | None = None) -> None:
        async def has_run_out() -> bool:
            for other, holder in (renewing or {}).items():
                await holder.renew(other)
            return lease not in (await self.opened[0].leases()).values()

        await until_async(has_run_out)

    async def forget_history(self) -> None:
        await asyncio.to_thread(self.cluster.compact)
