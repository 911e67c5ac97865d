"""The watch on the map: etcd's own, resumed on another member when it breaks or falls silent.

A silent stream may have nothing to say, or its member may be stopped, cut off or hung. So in every silent second we ask
the cluster for the head; the revision it names must be here before the next silent second ends.
"""

import asyncio
import base64
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Final

from headrace.cluster.store import Change, Changes, Compacted, check_followed
from headrace.stores.etcd_gateway import PAUSE_S, EtcdGateway, EtcdStream
from headrace.stores.etcd_map import EtcdMap
from headrace.stores.etcd_messages import WATCH, create_watch
from headrace.stores.etcd_replies import Json

SILENCE_S: Final = 1.0


async def watch_map(gateway: EtcdGateway, map_: EtcdMap, after: int) -> AsyncIterator[Changes]:
    while True:
        start = await _start(map_, after)
        try:
            async with gateway.stream(WATCH, create_watch(map_.head_key, map_.range_end, start)) as stream:
                async with aclosing(_listen(stream, map_, after)) as listening:
                    async for changes in listening:
                        check_followed(after, changes)
                        after = changes.revision
                        yield changes
                gateway.turn_from(stream.connection.endpoint)
        except OSError:
            # A member that accepts a watch and ends it at once must not be asked a thousand times a second.
            await asyncio.sleep(random.uniform(*PAUSE_S))


async def _start(map_: EtcdMap, after: int) -> int:
    head = await map_.head_after(after)
    if head.revision == after:
        # The revisions between are not ours, and etcd may have forgotten them.
        return head.etcd_revision + 1
    return after + 1


async def _listen(stream: EtcdStream, map_: EtcdMap, after: int) -> AsyncGenerator[Changes, None]:
    """Yields changes until the stream ends (`OSError`), or has been silent while there was something to say."""
    commits = WholeCommits(map_)
    announced = after
    while True:
        message = await stream.next(SILENCE_S)
        if message is None:
            if after < announced:
                return
            announced = (await map_.head()).revision
        elif changes := commits.take(message):
            after = changes.revision
            yield changes


class WholeCommits:
    """Puts commits together again that etcd cuts into several messages, and passes each on when all of it is here."""

    def __init__(self, map_: EtcdMap) -> None:
        self._map = map_
        self._held: list[Change] = []
        self._passed_on = 0

    def take(self, message: Json) -> Changes | None:
        _check_cancelled(message)
        self._held += map(self._read, message.get("events", ()))
        if not self._held:
            return None
        assert self._passed_on < self._held[0].revision, (self._passed_on, self._held[0])
        last = self._held[-1].revision
        is_cut = bool(message.get("fragment"))
        whole = [change for change in self._held if change.revision < last] if is_cut else self._held
        self._held = self._held[len(whole) :]
        if not whole:
            return None
        self._passed_on = whole[-1].revision
        return Changes(self._passed_on, tuple(change for change in whole if change.key))

    def _read(self, event: Json) -> Change:
        """The change in one event; its key is empty for the head, which the map does not show."""
        kv = event["kv"]
        name = self._map.name_of(base64.b64decode(kv["key"]).decode())
        value = None if event.get("type") == "DELETE" else base64.b64decode(kv.get("value", ""))
        return Change(name, value, int(kv["mod_revision"]))


def _check_cancelled(message: Json) -> None:
    if int(message.get("compact_revision", 0)):
        raise Compacted(f"etcd has forgotten what was before revision {message['compact_revision']}")
    if message.get("canceled"):
        raise ConnectionError(f"etcd ended the watch: {message.get('cancel_reason', '')}")
