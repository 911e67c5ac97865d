"""The map of the metadata store under one prefix of etcd. Our revisions are etcd's.

    PREFIX/map            the head: the format; written by every commit, so its revision is the newest of the map
    PREFIX/map/KEY        a key of the map
    PREFIX/receipts/…     see `etcd_receipts`
    PREFIX/leases/NAME    see `etcd_leases`

Others write to the same etcd and our own leases do too, so our revisions have gaps. Without the head nobody could tell
from a revision alone whether there is something newer: a watcher would wait for what never comes, or be told that the
history it needs is gone when nothing of ours was in it.
"""

from collections.abc import Mapping
from contextlib import aclosing
from typing import Final, NamedTuple

from headrace.base.errors import StoreUnreachable, UserError
from headrace.base.other_format import other_format
from headrace.cluster.store import Compacted, Conflict, Entry, Snapshot, StoreWentBack
from headrace.stores.etcd_gateway import EtcdGateway
from headrace.stores.etcd_messages import (
    NO_KV,
    RANGE,
    TXN,
    Kv,
    after_all_below,
    get,
    gets_of,
    has_revision,
    in_txn_get,
    in_txn_put,
    in_txn_txn,
    kv_of,
    kvs_of,
    revision_of,
    txn,
    was_created_at,
)
from headrace.stores.etcd_pages import read_pages
from headrace.stores.etcd_receipts import COMMITTED, REFUSED, EtcdReceipt, Receipts
from headrace.stores.etcd_replies import NOT_FOUND, OUT_OF_RANGE, Json, Refusal

FORMAT: Final = b"headrace 1"


class Head(NamedTuple):
    revision: int
    etcd_revision: int
    """When this was the head. Nothing of ours lies between the two."""


class EtcdMap:
    def __init__(self, gateway: EtcdGateway, prefix: str) -> None:
        self._gateway = gateway
        self._prefix = prefix
        self._created = 0
        self._told = 0
        self._receipts = Receipts(gateway, f"{prefix}/receipts")
        self.head_key: Final = f"{prefix}/map"
        self.range_end: Final = after_all_below(self.head_key)

    def key_of(self, key: str) -> str:
        return f"{self.head_key}/{key}"

    def name_of(self, etcd_key: str) -> str:
        return etcd_key[len(self.head_key) + 1 :]

    async def claim(self) -> None:
        """Claims the prefix if nobody uses it; `UserError` if it is someone else's, or of another version."""
        found = await self._gateway.call(RANGE, get(self._prefix + "/", self._prefix + "0", limit=1, keys_only=True))
        if not kvs_of(found):
            put = in_txn_put(self.head_key, FORMAT)
            await self._gateway.call(TXN, txn([has_revision(self.head_key, 0)], [put]))
        head = kv_of(await self._gateway.call(RANGE, get(self.head_key)))
        self._check_format(head.value)
        self._created = head.created

    def _check_format(self, found: bytes) -> None:
        if found == FORMAT:
            return
        if found.startswith(FORMAT.split()[0]):
            raise other_format(f"the metadata under {self._gateway.url}", repr(found.decode()), repr(FORMAT.decode()))
        raise UserError(
            f"{self._gateway.url} holds keys that are not Headrace's",
            f"Choose another prefix, like {self._gateway.url}/headrace",
        )

    async def head(self) -> Head:
        told = self._told
        reply = await self._gateway.call(RANGE, get(self.head_key, keys_only=True))
        return Head(self._tell(self._checked(kv_of(reply)).revision, told), revision_of(reply))

    def _tell(self, revision: int, told: int) -> int:
        """The newest revision after a call; `StoreWentBack` if a newer one had been `told` before it began."""
        if revision < told:
            raise StoreWentBack(self._gateway.url, told, revision)
        self._told = max(self._told, revision)
        return revision

    async def head_after(self, revision: int) -> Head:
        """The head, for a caller that has seen everything up to `revision`, which must be one of this history.

        After a restore others may have come further than that again. `Compacted` if etcd cannot say.
        """
        self._told = max(self._told, revision)
        head = await self.head()
        if revision in (0, head.revision):
            return head
        try:
            reply = await self._gateway.call(RANGE, get(self.head_key, revision=revision, keys_only=True))
        except Refusal as refusal:
            if refusal.code == OUT_OF_RANGE:
                raise Compacted(f"etcd has forgotten revision {revision}") from refusal
            raise
        if (found := kv_of(reply).revision) != revision:
            raise StoreWentBack(self._gateway.url, revision, found)
        return head

    def _checked(self, head: Kv) -> Kv:
        if head.created != self._created:
            raise UserError(
                f"the metadata under {self._gateway.url} was removed or replaced while this broker ran",
                "Stop all brokers of the cluster, restore etcd from a snapshot, start them again: docs/etcd.md, Restoring.",
            )
        return head

    async def load(self) -> Snapshot:
        told = self._told
        while True:
            try:
                snapshot = await self._load()
                self._tell(snapshot.revision, told)
                return snapshot
            except Refusal as refusal:
                # etcd compacted the revision between two pages; the next try begins at a newer one.
                if refusal.code != OUT_OF_RANGE:
                    raise

    async def _load(self) -> Snapshot:
        head: Kv | None = None
        entries: dict[str, Entry] = {}
        async with aclosing(read_pages(self._gateway, self.head_key, self.range_end)) as pages:
            async for page in pages:
                if head is None:
                    head = self._checked(page.pop(0))
                entries.update((self.name_of(kv.key), Entry(kv.value, kv.revision)) for kv in page)
        return Snapshot(self._checked(head or NO_KV).revision, entries)

    async def commit(self, puts: Mapping[str, bytes | None], expect: Mapping[str, int]) -> int:
        if not puts:
            return await self._compare(expect)
        async with self._gateway.within_deadline(), self._receipts.one() as receipt:
            told = self._told
            try:
                reply = await self._gateway.call(
                    TXN,
                    self._commit_txn(puts, expect, receipt),
                    again=self._commit_txn(puts, expect, receipt, decide=True),
                )
            except Refusal as refusal:
                if refusal.code == NOT_FOUND:
                    self._receipts.forget_lease()
                raise
            return self._tell(self._outcome(reply, expect, receipt), told)

    def _commit_txn(
        self, puts: Mapping[str, bytes | None], expect: Mapping[str, int], receipt: EtcdReceipt, decide: bool = False
    ) -> Json:
        """The transaction of a commit. With `decide`, its failure also makes earlier attempts fail, or reports one that
        did not."""
        is_open = has_revision(receipt.key, receipt.revision)
        compare = [is_open, was_created_at(self.head_key, self._created), *self._comparisons(expect)]
        success = [in_txn_put(self.key_of(key), value) for key, value in puts.items()]
        success += [in_txn_put(self.head_key, FORMAT), in_txn_put(receipt.key, COMMITTED, receipt.lease)]
        failure = [in_txn_get(receipt.key), *self._lookups(expect)]
        if decide:
            failure.append(in_txn_txn(txn([is_open], [in_txn_put(receipt.key, REFUSED, receipt.lease)])))
        return txn(compare, success, failure)

    def _outcome(self, reply: Json, expect: Mapping[str, int], receipt: EtcdReceipt) -> int:
        if reply.get("succeeded"):
            receipt.decided_at(revision_of(reply))
            return receipt.revision
        found, head, *compared = gets_of(reply)
        self._checked(head)
        if found.revision != receipt.revision:
            return _earlier_outcome(found, receipt, _conflict(expect, compared))
        has_decided = "response_txn" in reply["responses"][-1]
        receipt.decided_at(revision_of(reply) if has_decided else receipt.revision)
        raise _conflict(expect, compared)

    async def _compare(self, expect: Mapping[str, int]) -> int:
        """Checks `expect` and returns the head's revision: nothing is written, so sending it twice does no harm."""
        head = in_txn_get(self.head_key, keys_only=True)
        reply = await self._gateway.call(TXN, txn(self._comparisons(expect), [head], self._lookups(expect)))
        found, *compared = gets_of(reply)
        self._checked(found)
        if not reply.get("succeeded"):
            raise _conflict(expect, compared)
        return found.revision

    def _comparisons(self, expect: Mapping[str, int]) -> list[Json]:
        return [has_revision(self.key_of(key), revision) for key, revision in expect.items()]

    def _lookups(self, expect: Mapping[str, int]) -> list[Json]:
        """The reads of the head, then of each key."""
        keys = (self.head_key, *map(self.key_of, expect))
        return [in_txn_get(key, keys_only=True) for key in keys]


def _earlier_outcome(found: Kv, receipt: EtcdReceipt, conflict: Conflict) -> int:
    if found == NO_KV:
        raise StoreUnreachable(f"{receipt.key} was removed while a commit was under way")
    receipt.decided_at(found.revision)
    if found.value == COMMITTED:
        return found.revision
    raise conflict


def _conflict(expect: Mapping[str, int], found: list[Kv]) -> Conflict:
    """The conflict, with the keys that differ; all of them if none does any more, as an earlier attempt was refused."""
    differ = [key for (key, wanted), kv in zip(expect.items(), found, strict=True) if kv.revision != wanted]
    return Conflict(differ or expect)
