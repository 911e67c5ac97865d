"""Simulated members of a consumer group: they find their coordinator, join by one protocol or the other, commit what they
have read of each partition they are given, and go on through whatever happens to brokers.
"""

import asyncio
from typing import Any

from headrace.base.ids import TopicPartition
from headrace.wire.codec import decode, encoded
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.coordinators import FindCoordinatorRequest
from headrace.wire.messages.embedded import EmbeddedAssignment, EmbeddedPartitions, EmbeddedSubscription
from headrace.wire.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from headrace.wire.messages.groups_classic import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from headrace.wire.messages.groups_consumer import ConsumerGroupHeartbeatRequest, TopicPartitions
from headrace.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from sim.clients import Directory, Refusal
from sim.group_ledger import GroupLedger
from sim.wireclient import Lost, WireClient
from sim.world import World

GROUP = "billing"
BEAT_SECONDS = 0.3
SESSION_MS = 6_000
REBALANCE_MS = 60_000
FIND, JOIN, SYNC, BEAT, NEXT_BEAT, COMMIT, FETCH, METADATA = 3, 9, 5, 4, 1, 9, 7, 12
Parts = frozenset[TopicPartition]


class GroupMember:
    """What both protocols have in common."""

    def __init__(self, world: World, ledger: GroupLedger, name: str, topic: str, partitions: int) -> None:
        self.name = name
        self.topic = topic
        self.partitions = partitions
        self.rng = world.rng(f"member {name}")
        self.loop = world.client_loop(f"member {name}")
        self.directory = Directory(world, self.loop, self.rng)
        self.ledger = ledger
        self.holder = ledger.new_holder(name)
        self.member_id = ""
        self.epoch = -1
        self.is_settled = False
        self._positions: dict[TopicPartition, int] = {}
        world.spawn(self.loop, self._run())

    async def _run(self) -> None:
        while True:
            try:
                link = await self._open()
                try:
                    await self._live(link)
                finally:
                    link.close()
            except (Lost, Refusal):
                await self.directory.back_off()

    async def _open(self) -> WireClient:
        link = await self.directory.any()
        try:
            answer = await link.ask(FindCoordinatorRequest(GROUP, 0), FIND)
        finally:
            link.close()
        if answer.error_code:
            raise Refusal(f"error {answer.error_code}")
        return await WireClient.open(self.loop, (answer.host, answer.port))

    async def _live(self, link: WireClient) -> None:
        raise NotImplementedError

    async def _ask(self, link: WireClient, request: Any, version: int, seconds_max: float = 3.0) -> Any:
        """An answer of a coordinator that counts us as a member renews our session."""
        sent = self.ledger.now
        answer = await link.ask(request, version, seconds_max)
        code = getattr(answer, "error_code", 0)
        if code in (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE):
            raise Refusal(f"error {code}")
        if code in (0, ErrorCode.REBALANCE_IN_PROGRESS):
            self.holder.alive_until = sent + SESSION_MS / 1000
        return answer

    def _hold(self, parts: Parts) -> None:
        self.ledger.on_held(self.holder, parts)
        self._positions = {part: offset for part, offset in self._positions.items() if part in parts}

    async def _commit_one(self, link: WireClient) -> int:
        """Of some partition, one more than is committed; the code that it was answered with."""
        part = self.rng.choice(sorted(self.holder.held))
        if part not in self._positions:
            await self._find_position(link, part)
            return 0
        offset = self._positions[part] + 1
        place = OffsetCommitRequestPartition(part.partition, offset)
        topics = [OffsetCommitRequestTopic(part.topic, partitions=[place])]
        answer = await link.ask(OffsetCommitRequest(GROUP, self.epoch, self.member_id, topics=topics), COMMIT)
        code = int(answer.topics[0].partitions[0].error_code)
        if code == 0:
            self.ledger.on_committed(part, offset)
            if part in self._positions:
                self._positions[part] = offset
        return code

    async def _find_position(self, link: WireClient, part: TopicPartition) -> None:
        least = self.ledger.acknowledged.get(part, -1)
        request = OffsetFetchRequest(GROUP, [OffsetFetchRequestTopic(part.topic, [part.partition])])
        answer = await link.ask(request, FETCH)
        if answer.error_code:
            raise Refusal(f"error {answer.error_code}")
        offset = answer.topics[0].partitions[0].committed_offset
        self.ledger.on_fetched(self.name, part, offset, least)
        if part in self.holder.held:
            self._positions[part] = offset


class NextMember(GroupMember):
    """KIP-848."""

    def __init__(self, world: World, ledger: GroupLedger, name: str, topic: str, partitions: int) -> None:
        super().__init__(world, ledger, name, topic, partitions)
        self.member_id = name
        self.epoch = 0
        self._target: Parts = frozenset()
        self._topic_id = b""

    async def _live(self, link: WireClient) -> None:
        if not self._topic_id:
            await self._learn_topic_id(link)
        says_all = True
        while True:
            await self._beat(link, says_all)
            says_all = False
            if self.holder.held and await self._commit_one(link) == ErrorCode.NOT_COORDINATOR:
                raise Refusal("it moved")
            await asyncio.sleep(BEAT_SECONDS)

    async def _learn_topic_id(self, link: WireClient) -> None:
        answer = await link.ask(MetadataRequest([MetadataRequestTopic(name=self.topic)]), METADATA)
        if answer.topics[0].error_code:
            raise Refusal("no such topic yet")
        self._topic_id = answer.topics[0].topic_id

    async def _beat(self, link: WireClient, says_all: bool) -> None:
        request = ConsumerGroupHeartbeatRequest(GROUP, self.member_id, self.epoch)
        if says_all or self.epoch == 0:
            request.rebalance_timeout_ms, request.subscribed_topic_names = REBALANCE_MS, [self.topic]
        numbers = sorted(part.partition for part in self.holder.held)
        request.topic_partitions = [TopicPartitions(self._topic_id, numbers)] if numbers else []
        answer = await self._ask(link, request, NEXT_BEAT)
        if answer.error_code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self.epoch, self._target, self.is_settled = 0, frozenset(), False
            self._hold(frozenset())
            return
        assert answer.error_code == 0, answer
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            self._target = frozenset(
                TopicPartition(self.topic, number) for topic in topics for number in topic.partitions
            )
        self.is_settled = self.holder.held == self._target
        if self.holder.held <= self._target:
            self._hold(self._target)
        else:
            # It takes a moment to finish what it was reading.
            await asyncio.sleep(self.rng.uniform(0.0, 0.5))
            self._hold(self.holder.held & self._target)


class ClassicMember(GroupMember):
    """Gives up everything before it joins, and assigns for the others when it leads."""

    async def _live(self, link: WireClient) -> None:
        while True:
            if not self.is_settled:
                await self._join(link)
                continue
            code = (await self._ask(link, HeartbeatRequest(GROUP, self.epoch, self.member_id), BEAT)).error_code
            if code == 0 and self.holder.held:
                code = await self._commit_one(link)
            self._on_code(code)
            await asyncio.sleep(BEAT_SECONDS)

    async def _join(self, link: WireClient) -> None:
        self._hold(frozenset())
        said = (1).to_bytes(2, "big") + encoded(EmbeddedSubscription([self.topic]), 1)
        request = JoinGroupRequest(
            GROUP,
            SESSION_MS,
            REBALANCE_MS,
            self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol("range", said)],
        )
        joined = await self._ask(link, request, JOIN, REBALANCE_MS / 1000)
        if joined.error_code:
            self.member_id = joined.member_id or self.member_id
            self._on_code(0 if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED else joined.error_code)
            return
        self.member_id, self.epoch = joined.member_id, joined.generation_id
        shares = self._shares([each.member_id for each in joined.members])
        sync = SyncGroupRequest(GROUP, self.epoch, self.member_id, assignments=shares)
        synced = await self._ask(link, sync, SYNC, REBALANCE_MS / 1000)
        self._on_code(synced.error_code)
        if synced.error_code == 0:
            self.is_settled = True
            self._hold(self._assigned(synced.assignment))

    def _assigned(self, assignment: bytes) -> Parts:
        said = decode(EmbeddedAssignment, 1, assignment, 2).assigned_partitions if assignment else []
        return frozenset(TopicPartition(each.topic, number) for each in said for number in each.partitions)

    def _shares(self, members: list[str]) -> list[SyncGroupRequestAssignment]:
        shares = []
        for place, member_id in enumerate(members):
            numbers = list(range(self.partitions))[place :: len(members)]
            assigned = EmbeddedAssignment([EmbeddedPartitions(self.topic, numbers)])
            shares.append(SyncGroupRequestAssignment(member_id, (1).to_bytes(2, "big") + encoded(assigned, 1)))
        return shares

    def _on_code(self, code: int) -> None:
        if code == 0:
            return
        if code == ErrorCode.NOT_COORDINATOR:
            raise Refusal("it moved")
        known = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS)
        assert code in known, code
        self.is_settled = False
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
        if code != ErrorCode.REBALANCE_IN_PROGRESS:
            self._hold(frozenset())
