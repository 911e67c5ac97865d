"""The metadata store of many hosts: etcd, 3.4 or newer.

    EtcdStore --> EtcdMap, watch_map, EtcdLeases    what the port promises, in etcd's words
                      --> Gateway                   any member, a deadline, the next one when it does not answer
                             --> HttpConnection     one connection

Every call is answered by a majority of etcd's members or raises `StoreUnreachable` at the deadline. It takes no clock:
etcd's members count the leases. etcd keeps its history until someone compacts it, which is for its operator to set up
(`--auto-compaction-retention`), since others may use the same etcd.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Final

from headrace.base.errors import StoreUnreachable, UserError
from headrace.cluster.store import Changes, Lease, Snapshot, check_committed, check_loaded, check_size
from headrace.stores.etcd_gateway import EtcdGateway
from headrace.stores.etcd_leases import EtcdLeases
from headrace.stores.etcd_map import EtcdMap
from headrace.stores.etcd_replies import Refusal
from headrace.stores.etcd_url import PASSWORD_VARIABLE, EtcdUrl, parse_etcd_url
from headrace.stores.etcd_watch import watch_map

DEADLINE_S: Final = 5.0


class EtcdStore:
    def __init__(self, gateway: EtcdGateway, map_: EtcdMap, leases: EtcdLeases) -> None:
        self._gateway = gateway
        self._map = map_
        self._leases = leases

    @classmethod
    async def open(cls, url: str, *, deadline_s: float = DEADLINE_S) -> "EtcdStore":
        """Opens the store of a URL; `UserError` if URL, credentials or prefix are wrong, or nobody answers."""
        parsed = parse_etcd_url(url)
        gateway = EtcdGateway(parsed, deadline_s)
        map_ = EtcdMap(gateway, parsed.prefix)
        try:
            await map_.claim()
        except BaseException as error:
            await gateway.close()
            if isinstance(error, StoreUnreachable):
                raise _explained(error, parsed) from error
            raise
        return cls(gateway, map_, EtcdLeases(gateway, parsed.prefix))

    async def load(self) -> Snapshot:
        """Reads the whole map at one revision: page by page, each with the deadline."""
        return check_loaded(await self._map.load())

    def watch(self, after: int) -> AsyncIterator[Changes]:
        return watch_map(self._gateway, self._map, after)

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        check_size(puts, expect)
        return check_committed(await self._map.commit(puts, expect), expect)

    async def acquire(self, name: str, holder: str, epoch: int, ttl_ms: int) -> Lease:
        return await self._leases.acquire(Lease(name, holder, epoch, ttl_ms))

    async def renew(self, lease: Lease) -> None:
        await self._leases.renew(lease)

    async def release(self, lease: Lease) -> None:
        await self._leases.release(lease)

    async def leases(self) -> Mapping[str, Lease]:
        return await self._leases.live()

    def watch_leases(self) -> AsyncIterator[Mapping[str, Lease]]:
        return self._leases.watch()

    async def close(self) -> None:
        await self._gateway.close()


def _explained(error: StoreUnreachable, url: EtcdUrl) -> UserError:
    if not isinstance(error, Refusal):
        return UserError(str(error), "Start etcd, or correct --store: its addresses, and etcds:// if etcd wants TLS.")
    for words, fix in _FIXES.items():
        if words in error.message:
            return UserError(f"{url}: {error.message}", fix)
    return UserError(f"{url}: {error.message}", "Look at etcd's own log.")


_FIXES: Final = {
    "user name is empty": f"Give a user: etcd://USER@HOST:PORT/…, and the password in {PASSWORD_VARIABLE}.",
    "authentication failed": f"Correct the user in --store, or the password in {PASSWORD_VARIABLE}.",
    "authentication is not enabled": "Take USER@ out of --store, or run `etcdctl auth enable`.",
    "permission denied": "Grant the user's role readwrite on the prefix: etcdctl role grant-permission --prefix …",
    "space exceeded": "Compact and defragment etcd, then run `etcdctl alarm disarm`.",
}
"""Fixes by the words of etcd's errors."""
