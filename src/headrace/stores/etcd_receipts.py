"""Receipts: they make a commit that was sent twice be done once.

When a member dies before it answers, nobody knows whether the commit was done, and it may still be done later. Sent
again as it is, it could undo what someone else wrote in between, or find its own work and call it a conflict. So every
commit also writes a key that nobody else writes, its receipt, and compares the revision that the key had before: of all
attempts only the first to arrive can count, and every later one reads from the key how that one ended.

A receipt is used again once its commit is decided, and thrown away when it is not: an attempt may still be under way.
The keys hang on an etcd lease and are gone some minutes after their broker.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from headrace.base.errors import StoreUnreachable
from headrace.stores.etcd_gateway import EtcdGateway
from headrace.stores.etcd_messages import GRANT

AT_ONCE_MAX: Final = 8
WAITING_MAX: Final = 1_000
LEASE_S: Final = 600
LEASE_USE_S: Final = 200
"""Much less than the lease lasts, so that no receipt can vanish while its commit is under way."""

COMMITTED: Final = b"1 committed"
REFUSED: Final = b"1 refused"


@dataclass(slots=True)
class EtcdReceipt:
    key: str
    lease: str
    revision: int = 0
    is_decided: bool = False

    def decided_at(self, revision: int) -> None:
        self.revision, self.is_decided = revision, True


class Receipts:
    def __init__(self, gateway: EtcdGateway, folder: str) -> None:
        self._gateway = gateway
        self._folder = folder
        self._free: list[EtcdReceipt] = []
        self._places = asyncio.Semaphore(AT_ONCE_MAX)
        self._waiting = 0
        self._granting = asyncio.Lock()
        self._lease = ""
        self._use_until = 0.0
        self._made = 0

    @asynccontextmanager
    async def one(self) -> AsyncIterator[EtcdReceipt]:
        if self._waiting >= WAITING_MAX:
            raise StoreUnreachable(f"{self._waiting} commits are waiting for etcd")
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        receipt: EtcdReceipt | None = None
        try:
            receipt = await self._take()
            yield receipt
        finally:
            if receipt is not None and receipt.is_decided:
                self._free.append(receipt)
            self._places.release()

    def forget_lease(self) -> None:
        """Forgets the lease, which ran out early: this machine slept."""
        self._lease = ""

    async def _take(self) -> EtcdReceipt:
        lease = await self._current_lease()
        while self._free:
            receipt = self._free.pop()
            if receipt.lease == lease:
                receipt.is_decided = False
                return receipt
        self._made += 1
        return EtcdReceipt(f"{self._folder}/{lease}/{self._made}", lease)

    async def _current_lease(self) -> str:
        async with self._granting:
            now = asyncio.get_running_loop().time()
            if not self._lease or now >= self._use_until:
                reply = await self._gateway.call(GRANT, {"TTL": str(LEASE_S)})
                self._lease, self._use_until = str(reply["ID"]), now + LEASE_USE_S
            return self._lease
