"""The live end of a topic: what was written since the last look. A look that is far behind jumps ahead and says so."""

import asyncio

from headrace.base.errors import Refused
from headrace.base.ids import TopicPartition
from headrace.client.cluster_client import LATEST, ClusterClient
from headrace.gateway.known_topics import check_readable
from headrace.gateway.ui.reading import FoundMessage
from headrace.gateway.visible import VisibleRecords
from headrace.wire.codes import ErrorCode

BYTES_MAX = 256 * 1024
BEHIND_MAX = 1_000
TAIL_SECONDS_MAX = 5.0


class Tail:
    def __init__(self, client: ClusterClient, topic: str) -> None:
        self._client = client
        self._topic = topic
        self._next: dict[TopicPartition, int] = {}
        self.skipped = 0
        """Messages that came faster than a person could have read them."""

    async def poll(self, partitions: int) -> list[FoundMessage]:
        """New messages of the first `partitions` partitions, in order of time. The first look only finds the end."""
        check_readable(self._topic)
        ids = [TopicPartition(self._topic, index) for index in range(partitions)]
        if not self._next:
            ends = await self._client.offsets(dict.fromkeys(ids, LATEST), seconds_max=TAIL_SECONDS_MAX)
            self._next = {id: at.offset for id, at in ends.items()}
            return []
        for id in ids:
            # One that was added since is new from its first message on.
            self._next.setdefault(id, 0)
        found = await asyncio.gather(*map(self._poll, ids), return_exceptions=True)
        troubles = [each for each in found if isinstance(each, BaseException)]
        if troubles and len(troubles) == len(found):
            raise troubles[0]
        messages = [message for each in found if not isinstance(each, BaseException) for message in each]
        return sorted(messages, key=lambda each: (each.record.timestamp, each.id.partition, each.record.offset))

    async def _poll(self, id: TopicPartition) -> list[FoundMessage]:
        offset = self._next[id]
        try:
            fetched = await self._client.fetch(id, offset, bytes_max=BYTES_MAX, wait_ms=0, seconds_max=TAIL_SECONDS_MAX)
        except Refused as refusal:
            if refusal.code == ErrorCode.OFFSET_OUT_OF_RANGE:
                ends = await self._client.offsets({id: LATEST}, seconds_max=TAIL_SECONDS_MAX)
                self._next[id] = ends[id].offset
                return []
            raise
        visible = VisibleRecords(fetched, offset)
        messages = [FoundMessage(id, record) for record in visible]
        behind = fetched.last_stable_offset - visible.next_offset
        self._next[id] = visible.next_offset
        if behind > BEHIND_MAX:
            self.skipped += behind
            self._next[id] = fetched.last_stable_offset
        return messages
