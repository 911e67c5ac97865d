"""All keys of a range at one revision of etcd, however many, without holding up the event loop."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Final

from headrace.stores.etcd_gateway import EtcdGateway
from headrace.stores.etcd_messages import RANGE, Kv, get, revision_of

PAGE_KEYS: Final = 5_000
"""Keys of one page. etcd counts all keys that are left for each page: small pages make a long range quadratic. A page
of this size is parsed in some 20 ms.
"""

DECODE_KEYS: Final = 1_000
"""Keys decoded between two turns of the event loop."""


async def read_pages(gateway: EtcdGateway, key: str, end: str) -> AsyncGenerator[list[Kv], None]:
    """Yields the pages in order of the keys. `Refusal` (out of range) if etcd compacts the revision meanwhile."""
    revision = 0
    while True:
        reply = await gateway.call(RANGE, get(key, end, limit=PAGE_KEYS, revision=revision))
        revision = revision or revision_of(reply)
        kvs = reply.get("kvs", ())
        for start in range(0, len(kvs), DECODE_KEYS):
            page = [Kv.read(kv) for kv in kvs[start : start + DECODE_KEYS]]
            key = page[-1].key + "\0"
            yield page
            await asyncio.sleep(0)
        if not reply.get("more"):
            return
