"""Leases of brokers on many hosts: a key that hangs on an etcd lease, and is gone when its holder stops renewing.

    PREFIX/leases/NAME = [format, holder, epoch, ttl_ms]

etcd counts in whole seconds and at least one and a half election timeouts (2 s by default), and gives every lease its
full time again when it elects a new leader: a lease never ends before its `ttl_ms`, it may end later.

A renewal is a keep-alive and then a look at the key. The keep-alive alone would not do: the holder may have been
stepped over, and a deposed etcd leader may still answer keep-alives, but it cannot answer a linearizable read.
"""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping
from typing import Final

from headrace.base.other_format import other_format
from headrace.cluster.store import Lease, LeaseHeld, LeaseLost
from headrace.stores.etcd_gateway import PAUSE_S, EtcdGateway, EtcdStream
from headrace.stores.etcd_messages import (
    GRANT,
    KEEP_ALIVE,
    NO_KV,
    RANGE,
    REVOKE,
    TXN,
    WATCH,
    Kv,
    after_all_below,
    create_watch,
    get,
    gets_of,
    has_revision,
    in_txn_get,
    in_txn_put,
    kv_of,
    kvs_of,
    revision_of,
    txn,
)
from headrace.stores.etcd_replies import NOT_FOUND, Refusal
from headrace.stores.etcd_watch import SILENCE_S

FORMAT: Final = 1


class EtcdLeases:
    def __init__(self, gateway: EtcdGateway, prefix: str) -> None:
        self._gateway = gateway
        self._folder = f"{prefix}/leases"
        self._ids: dict[Lease, str] = {}

    async def acquire(self, lease: Lease) -> Lease:
        async with self._gateway.within_deadline():
            found = await self._find(lease.name)
            self._refuse_if_held(lease, found)
            id_ = str((await self._gateway.call(GRANT, {"TTL": str(-(-lease.ttl_ms // 1000))}))["ID"])
            # Each round begins with the value the last one found, and ends when that is someone's lease, or ours.
            while (found := await self._put(lease, id_, found)).lease != id_:
                self._refuse_if_held(lease, found)
        self._ids[lease] = id_
        return lease

    async def _put(self, lease: Lease, id_: str, found: Kv) -> Kv:
        """Writes the lease if its key is as it was found; returns the key's value then, ours or that of somebody
        quicker."""
        key, value = self._key(lease.name), _encode(lease)
        reply = await self._gateway.call(
            TXN, txn([has_revision(key, found.revision)], [in_txn_put(key, value, id_)], [in_txn_get(key)])
        )
        if reply.get("succeeded"):
            return Kv(key, value, revision_of(reply), 0, id_)
        return gets_of(reply)[0]

    def _refuse_if_held(self, lease: Lease, found: Kv) -> None:
        if found == NO_KV:
            return
        held = self._decode(found)
        if held.holder != lease.holder or held.epoch >= lease.epoch:
            raise LeaseHeld(held)

    async def renew(self, lease: Lease) -> None:
        async with self._gateway.within_deadline():
            id_ = await self._id_of(lease)
            reply = await self._gateway.call(KEEP_ALIVE, {"ID": id_})
            is_alive = int(reply.get("TTL", 0)) > 0
            if not is_alive or (await self._find(lease.name)).lease != id_:
                self._ids.pop(lease, None)
                raise LeaseLost(lease)

    async def release(self, lease: Lease) -> None:
        """Ends the lease. If another holder took it over, only the empty etcd lease goes: the key hangs on another by
        now."""
        async with self._gateway.within_deadline():
            try:
                await self._gateway.call(REVOKE, {"ID": await self._id_of(lease)})
            except LeaseLost:
                pass
            except Refusal as refusal:
                if refusal.code != NOT_FOUND:
                    raise
        self._ids.pop(lease, None)

    async def _id_of(self, lease: Lease) -> str:
        """The id of the etcd lease, looked up if another store of this process acquired it."""
        known = self._ids.get(lease)
        if known:
            return known
        found = await self._find(lease.name)
        if found == NO_KV or self._decode(found) != lease:
            raise LeaseLost(lease)
        self._ids[lease] = found.lease
        return found.lease

    async def _find(self, name: str) -> Kv:
        return kv_of(await self._gateway.call(RANGE, get(self._key(name))))

    async def live(self) -> Mapping[str, Lease]:
        return (await self._live())[0]

    async def _live(self) -> tuple[Mapping[str, Lease], int]:
        reply = await self._gateway.call(RANGE, get(f"{self._folder}/", after_all_below(self._folder)))
        leases = map(self._decode, kvs_of(reply))
        return {lease.name: lease for lease in leases}, revision_of(reply)

    async def watch(self) -> AsyncIterator[Mapping[str, Lease]]:
        seen: Mapping[str, Lease] | None = None
        while True:
            live, revision = await self._live()
            if live != seen:
                seen = live
                yield live
            watch = create_watch(f"{self._folder}/", after_all_below(self._folder), revision + 1)
            try:
                async with self._gateway.stream(WATCH, watch) as stream:
                    while (other := await self._next_other(stream, seen)) is not None:
                        seen = other
                        yield other
                    self._gateway.turn_from(stream.connection.endpoint)
            except OSError:
                await asyncio.sleep(random.uniform(*PAUSE_S))

    async def _next_other(self, stream: EtcdStream, seen: Mapping[str, Lease]) -> Mapping[str, Lease] | None:
        """The live leases once they differ from `seen`; None if the stream was silent about it: do not trust its member."""
        while True:
            message = await stream.next(SILENCE_S)
            if message is not None and message.get("canceled"):
                raise ConnectionError("etcd ended the watch")
            live, _ = await self._live()
            if live != seen:
                return live if message is not None else None

    def _key(self, name: str) -> str:
        return f"{self._folder}/{name}"

    def _decode(self, kv: Kv) -> Lease:
        format_, *fields = json.loads(kv.value)
        if format_ != FORMAT:
            raise other_format(f"the lease {kv.key} in etcd", format_, FORMAT)
        holder, epoch, ttl_ms = fields
        return Lease(kv.key[len(self._folder) + 1 :], holder, epoch, ttl_ms)


def _encode(lease: Lease) -> bytes:
    return json.dumps([FORMAT, lease.holder, lease.epoch, lease.ttl_ms]).encode()
