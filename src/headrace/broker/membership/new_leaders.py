"""Partitions made a moment ago, until this broker knows that their leaders lead them.

    new in the image ─▶ awaited ─▶ the leader is asked until it says that it leads ─▶ named in Metadata

A leader has to hear of its partition and open it first. Until then it refuses what is produced, and a producer with acks=0
or few retries loses that. So Metadata names no leader of an awaited partition, and whoever creates one is answered when
every live broker names the leaders (`until_usable`).

Every broker asks for itself, by Metadata requests over topic ids: a broker names itself as leader only of what it has open.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress

from headrace.broker.membership.view import View
from headrace.broker.net.dialler import Dialler
from headrace.broker.net.peers import Peers
from headrace.broker.tasks import Tasks
from headrace.client.connection import Disconnected
from headrace.client.retry import Chance, pause_seconds
from headrace.cluster.image import Image, changed_topics
from headrace.partition.partition import Partition
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseTopic,
)

VERSION = 12
ASK_SECONDS_MAX = 2.0
TOPICS_PER_REQUEST = 100
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.003, 0.15
# A request that takes long is about very many partitions, each of which takes its time to open.
PAUSES_PER_ASK = 5
PAUSE_SECONDS_MAX = 0.5
# A broker that does not answer for so long has lost its lease, or is out of our reach: it is not waited for.
UNREACHABLE_SECONDS = 3.0
# From then on the image is believed, as it is of partitions that are not new.
AWAITED_SECONDS_MAX = 60.0
NONE_AWAITED: frozenset[int] = frozenset()


class _Awaited:
    """The awaited partitions of one topic."""

    __slots__ = ("partitions", "since")

    def __init__(self, since: float) -> None:
        self.partitions: set[int] = set()
        self.since = since


class NewLeaders:
    def __init__(self, view: View, tasks: Tasks, dialler: Dialler, chance: Chance) -> None:
        self._view = view
        self._tasks = tasks
        self._chance = chance
        # Connections of our own: on those of transactions an answer may wait behind a marker that nobody commits.
        self._peers = Peers(view, dialler)
        self._seen: Image | None = None
        self._awaited: dict[bytes, _Awaited] = {}
        self._asking: set[int] = set()
        self._silent_since: dict[int, float] = {}

    def awaited(self, topic_id: bytes) -> Collection[int]:
        """Partitions of this topic whose leader may not lead yet."""
        found = self._awaited.get(topic_id)
        return NONE_AWAITED if found is None else found.partitions

    def close(self) -> None:
        self._peers.close()

    # -- following the image -----------------------------------------------------------------------------------------

    def on_image(self, image: Image) -> None:
        before, self._seen = self._seen, image
        if before is None:
            # What was there when we started is not new.
            return
        for old, new in changed_topics(before, image):
            if new is None:
                assert old is not None
                self._awaited.pop(old.id, None)
                continue
            known = 0 if old is None else len(old.partitions)
            if known < len(new.partitions):
                self._await(new.id, range(known, len(new.partitions)))

    def _await(self, topic_id: bytes, partitions: Iterable[int]) -> None:
        now = self._view.clock.mono()
        awaited = self._awaited.setdefault(topic_id, _Awaited(now))
        awaited.partitions.update(partitions)
        awaited.since = now

    def wake(self) -> None:
        """The image changed, or who is alive: leaders that were not asked yet are."""
        if not self._awaited:
            self._silent_since.clear()
            return
        for leader in dict.fromkeys(leader for _, _, leader in self._leaders()):
            if leader != self._view.id and leader not in self._asking:
                self._asking.add(leader)
                self._tasks.start(f"new partitions of {leader}", self._ask_until_led(leader))

    def on_partitions(self, changed: Iterable[Partition]) -> None:
        """Our own, opened or in another state."""
        if self._awaited:
            for partition in changed:
                if partition.is_leader:
                    self._on_led(partition.topic_id, partition.id.partition)

    def _on_led(self, topic_id: bytes, index: int) -> None:
        awaited = self._awaited.get(topic_id)
        if awaited is not None:
            awaited.partitions.discard(index)
            if not awaited.partitions:
                del self._awaited[topic_id]

    def _leaders(self) -> Iterator[tuple[bytes, int, int]]:
        """(topic id, partition, leader) of everything awaited that a live broker leads."""
        image, live = self._view.image, self._view.live
        for topic_id, awaited in self._awaited.items():
            topic = image.topic_by_id(topic_id)
            if topic is not None:
                for index in awaited.partitions:
                    leader = topic.partitions[index].leader
                    if leader in live:
                        yield topic_id, index, leader

    # -- asking leaders ----------------------------------------------------------------------------------------------

    async def _ask_until_led(self, leader: int) -> None:
        pauses = _Pauses(self._view.clock.mono, self._chance)
        try:
            while wanted := self._wanted_of(leader):
                pauses.begin()
                with suppress(Disconnected):
                    for topic in await self._ask(leader, wanted):
                        self._take(leader, topic)
                await pauses.end()
        finally:
            self._asking.discard(leader)

    def _wanted_of(self, leader: int) -> list[bytes]:
        now = self._view.clock.mono()
        for topic_id in [each for each, found in self._awaited.items() if now - found.since > AWAITED_SECONDS_MAX]:
            del self._awaited[topic_id]
        return list(dict.fromkeys(topic_id for topic_id, _, of in self._leaders() if of == leader))

    def _take(self, leader: int, topic: MetadataResponseTopic) -> None:
        for part in topic.partitions:
            if part.leader_id == leader and part.error_code == ErrorCode.NONE:
                self._on_led(topic.topic_id, part.partition_index)

    async def _ask(self, peer: int, topic_ids: list[bytes]) -> list[MetadataResponseTopic]:
        """Raises Disconnected."""
        wanted = [MetadataRequestTopic(topic_id, None) for topic_id in topic_ids[:TOPICS_PER_REQUEST]]
        request = MetadataRequest(wanted, allow_auto_topic_creation=False)
        began = self._view.clock.mono()
        try:
            async with asyncio.timeout(ASK_SECONDS_MAX):
                response = await self._peers.ask(peer, request, MetadataResponse, VERSION, ASK_SECONDS_MAX)
        except (Disconnected, TimeoutError) as error:
            self._silent_since.setdefault(peer, began)
            raise Disconnected(f"broker {peer} does not tell its leaders") from error
        self._silent_since.pop(peer, None)
        return response.topics

    # -- waiting -----------------------------------------------------------------------------------------------------

    async def until_usable(self, names: Iterable[str], seconds: float) -> None:
        """Returns when every live broker names the leaders of these topics, and they lead; or after so many seconds."""
        image = self._view.image
        topic_ids = [image.topics[name].id for name in names if name in image.topics]
        if not topic_ids or seconds <= 0:
            return
        others = [peer for peer in self._view.live if peer != self._view.id]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(
                    self._until_settled(topic_ids), *(self._until_known_to(peer, topic_ids) for peer in others)
                )

    async def _until_settled(self, topic_ids: list[bytes]) -> None:
        pauses = _Pauses(self._view.clock.mono, self._chance)
        wanted = set(topic_ids)
        while any(topic_id in wanted and self._is_waited_for(leader) for topic_id, _, leader in self._leaders()):
            pauses.begin()
            await pauses.end()

    async def _until_known_to(self, peer: int, topic_ids: list[bytes]) -> None:
        pauses = _Pauses(self._view.clock.mono, self._chance)
        left = list(topic_ids)
        while left:
            pauses.begin()
            with suppress(Disconnected):
                told = {topic.topic_id: topic for topic in await self._ask(peer, left)}
                left = [topic_id for topic_id in left if not self._is_usable(topic_id, told)]
            if not self._is_waited_for(peer):
                return
            if left:
                await pauses.end()

    def _is_waited_for(self, peer: int) -> bool:
        since = self._silent_since.get(peer)
        is_silent = since is not None and self._view.clock.mono() - since > UNREACHABLE_SECONDS
        return peer in self._view.live and not is_silent

    def _is_usable(self, topic_id: bytes, told: Mapping[bytes, MetadataResponseTopic]) -> bool:
        """Whether the broker that answered names all leaders of the topic but those that are dead or silent."""
        topic = self._view.image.topic_by_id(topic_id)
        if topic is None:
            return True
        if topic_id not in told or told[topic_id].error_code:
            return False
        known = {part.partition_index for part in told[topic_id].partitions if part.error_code == ErrorCode.NONE}
        return all(
            index in known or not self._is_waited_for(state.leader) for index, state in enumerate(topic.partitions)
        )


class _Pauses:
    """Pauses between a question and its repetition: longer from time to time, and after an answer that took long."""

    def __init__(self, mono: Callable[[], float], chance: Chance) -> None:
        self._mono = mono
        self._chance = chance
        self._tries = 0
        self._began = 0.0

    def begin(self) -> None:
        self._began = self._mono()

    async def end(self) -> None:
        took = self._mono() - self._began
        self._tries += 1
        pause = pause_seconds(
            self._tries, first=_FIRST_PAUSE_SECONDS, longest=_LONGEST_PAUSE_SECONDS, chance=self._chance
        )
        await asyncio.sleep(max(pause, min(took * PAUSES_PER_ASK, PAUSE_SECONDS_MAX)))
