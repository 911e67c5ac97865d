"""Following: one task for each leader, which copies all partitions that it leads and we follow.

    fetch ─▶ append ─▶ sync every touched file ─▶ fetch again, from what is now on disk

The offset of a fetch is a promise to the leader: all below it survives here. So the next fetch waits for the sync, and
says the synced end. Sessions keep a fetch as small as what changed. When histories part, the leader says where, and we
cut there, after the recovery point that makes the cut safe is on disk.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from headrace.base.errors import DiskFull
from headrace.base.ids import TopicPartition
from headrace.broker.catch_up import CatchUp
from headrace.broker.partition import Partition
from headrace.client.connection import ClientConnection, Disconnected
from headrace.replica.follower import cut_for, sound_batches
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import (
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

log = logging.getLogger("headrace.fetcher")

FETCH_VERSION = 18
CONNECT_SECONDS_MAX = 1.0
BACKOFF_SECONDS = 0.05
# After an answer that only a newer image can mend, or a cut that found nothing to agree on.
PARTITION_BACKOFF_SECONDS = 0.1
DISK_FULL_SECONDS = 5.0
_SESSION_ERRORS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


class Position(NamedTuple):
    """What the leader was last told about one partition."""

    leader_epoch: int
    offset: int
    last_epoch: int
    high_watermark: int


class Fetchers:
    """Keeps a fetcher for every leader of a partition that we follow, and none for others."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._catch_up = CatchUp(broker)
        self._fetchers: dict[int, Fetcher] = {}

    def reconcile(self, partitions: Iterable[Partition]) -> None:
        wanted: dict[int, dict[TopicPartition, Partition]] = {}
        for partition in partitions:
            leader = partition.state.leader
            if not partition.is_leader and leader >= 0:
                wanted.setdefault(leader, {})[partition.id] = partition
        for leader in [leader for leader in self._fetchers if leader not in wanted]:
            self._fetchers.pop(leader).stop()
        for leader, followed in wanted.items():
            fetcher = self._fetchers.get(leader)
            if fetcher is None:
                fetcher = self._fetchers[leader] = Fetcher(self._broker, leader, self._catch_up)
                fetcher.start()
            fetcher.follow(followed)

    def stop(self) -> None:
        self.reconcile(())


class Fetcher:
    def __init__(self, broker: "Broker", leader_id: int, catch_up: CatchUp) -> None:
        self._broker = broker
        self._catch_up = catch_up
        self._leader_id = leader_id
        self._followed: dict[TopicPartition, Partition] = {}
        self._connection: ClientConnection | None = None
        self._session_id = 0
        self._session_epoch = 0
        self._told: dict[TopicPartition, Position] = {}
        self._told_ids: dict[TopicPartition, bytes] = {}
        self._not_before: dict[TopicPartition, float] = {}
        self._may_be_unproven = False
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._broker.tasks.start(f"fetch from {self._leader_id}", self._run())

    def stop(self) -> None:
        self._followed = {}
        self._leader_id = -1
        self._changed.set()
        if self._connection is not None:
            self._connection.close()

    def follow(self, partitions: dict[TopicPartition, Partition]) -> None:
        self._followed = partitions
        self._may_be_unproven = True
        self._changed.set()

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while self._leader_id >= 0:
            try:
                await self._connect()
                while self._leader_id >= 0:
                    await self._round()
            except Disconnected as error:
                if self._leader_id < 0:
                    return
                log.debug("fetch from broker %d: %s", self._leader_id, error)
                self._forget_session()
                await self._pause(BACKOFF_SECONDS)

    async def _connect(self) -> None:
        if self._connection is not None and not self._connection.is_lost:
            return
        leader = self._broker.image.brokers.get(self._leader_id)
        if leader is None:
            raise Disconnected("the leader is not registered")
        self._forget_session()
        self._connection = await ClientConnection.open(
            leader.host, leader.port, f"broker-{self._broker.id}-fetcher", CONNECT_SECONDS_MAX
        )

    def _forget_session(self) -> None:
        # The next fetch begins another and names the old one, so that the leader lets go of it.
        self._session_epoch = 0
        self._told = {}
        self._told_ids = {}

    async def _pause(self, seconds: float) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _round(self) -> None:
        assert self._connection is not None
        if self._may_be_unproven:
            await self._until_proven()
        request, asked = self._build_request()
        if not self._told:
            self._forget_session()
            await self._pause(PARTITION_BACKOFF_SECONDS)
            return
        config = self._broker.config
        wait_seconds = config.number("replica.fetch.wait.max.ms") / 1000
        response = await self._connection.ask(
            request, FetchResponse, FETCH_VERSION, wait_seconds + config.number("replica.socket.timeout.ms") / 1000
        )
        if response.error_code:
            if response.error_code not in _SESSION_ERRORS:
                await self._pause(PARTITION_BACKOFF_SECONDS)
            self._forget_session()
            return
        self._session_id = response.session_id
        self._session_epoch = (self._session_epoch % 0x7FFFFFFF) + 1 if response.session_id else 0
        if not response.session_id:
            self._told = {}
        await self._take(response, asked)

    async def _until_proven(self) -> None:
        """What we have from another leader, or led ourselves, is on disk first: else we would ask for what we have."""
        self._may_be_unproven = False
        syncing = Syncing()
        for partition in self._followed.values():
            if partition.until_proven(syncing):
                syncing.add()
        await syncing.until_done()

    # -- asking ------------------------------------------------------------------------------------------------------

    def _build_request(self) -> tuple[FetchRequest, dict[TopicPartition, Position]]:
        """Everything that the leader does not know yet; `asked` is where every partition of the session stands."""
        now = asyncio.get_running_loop().time()
        topics: dict[bytes, FetchTopic] = {}
        held_back = self._catch_up.held_back(self._followed.values(), now)
        followed = {
            id: partition
            for id, partition in self._followed.items()
            if id not in held_back and self._not_before.get(id, 0.0) <= now
        }
        max_bytes = self._broker.config.number("replica.fetch.max.bytes")
        for id, partition in followed.items():
            position = _position(partition)
            if self._told.get(id) == position:
                continue
            self._told[id] = position
            self._told_ids[id] = partition.topic_id
            topic = topics.setdefault(partition.topic_id, FetchTopic(topic_id=partition.topic_id, partitions=[]))
            topic.partitions.append(
                FetchPartition(
                    id.partition,
                    position.leader_epoch,
                    position.offset,
                    position.last_epoch,
                    partition.start_offset,
                    max_bytes,
                    high_watermark=position.high_watermark,
                )
            )
        return self._request(list(topics.values()), self._forgotten(followed)), dict(self._told)

    def _forgotten(self, followed: dict[TopicPartition, Partition]) -> list[ForgottenTopic]:
        gone: dict[bytes, ForgottenTopic] = {}
        for id in [id for id in self._told if id not in followed]:
            del self._told[id]
            topic_id = self._told_ids.pop(id)
            gone.setdefault(topic_id, ForgottenTopic(topic_id=topic_id, partitions=[])).partitions.append(id.partition)
        return list(gone.values())

    def _request(self, topics: list[FetchTopic], forgotten: list[ForgottenTopic]) -> FetchRequest:
        config = self._broker.config
        return FetchRequest(
            replica_state=ReplicaState(self._broker.id, self._broker.epoch),
            max_wait_ms=config.number("replica.fetch.wait.max.ms"),
            min_bytes=config.number("replica.fetch.min.bytes"),
            max_bytes=config.number("replica.fetch.response.max.bytes"),
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=topics,
            forgotten_topics_data=forgotten if self._session_epoch else [],
        )

    # -- taking ------------------------------------------------------------------------------------------------------

    async def _take(self, response: FetchResponse, asked: dict[TopicPartition, Position]) -> None:
        names = self._broker.image.topic_names
        syncing = Syncing()
        for topic in response.responses:
            name = names.get(topic.topic_id)
            if name is None:
                continue
            for part in topic.partitions:
                id = TopicPartition(name, part.partition_index)
                partition = self._followed.get(id)
                position = asked.get(id)
                if partition is not None and position is not None and partition.leader_epoch == position.leader_epoch:
                    await self._take_part(partition, position, part, syncing)
        await syncing.until_done()

    async def _take_part(
        self, partition: Partition, position: Position, part: PartitionData, syncing: "Syncing"
    ) -> None:
        if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._start_over(partition, part)
        elif part.error_code:
            self._back_off(partition)
        elif part.diverging_epoch is not None:
            await self._cut(partition, part.diverging_epoch, position)
        else:
            if part.records:
                self._append(partition, part.records, position)
            partition.on_leader_word(part.high_watermark, part.log_start_offset)
            if partition.until_proven(syncing):
                syncing.add()

    def _append(self, partition: Partition, records: memoryview, position: Position) -> None:
        end, headers = sound_batches(records, partition.log.end_offset, position.leader_epoch)
        if headers:
            self._catch_up.on_copied(partition, end)
            try:
                partition.append_copies(records[:end], headers, self._broker.clock.now())
            except DiskFull as error:
                log.error("%s cannot follow: %s", partition.id, error)
                self._broker.isr_keeper.leave(partition)
                self._back_off(partition, DISK_FULL_SECONDS)
        else:
            log.warning("%s: what broker %d sent is not sound; asking again", partition.id, self._leader_id)
            self._back_off(partition)

    async def _cut(self, partition: Partition, diverging: EpochEndOffset, position: Position) -> None:
        own_epoch, own_end = partition.log.epoch_end(diverging.epoch)
        offset = cut_for(diverging.epoch, diverging.end_offset, own_epoch, own_end, partition.high_watermark)
        log.info("%s: cutting back from %d to %d", partition.id, partition.log.end_offset, offset)

        def cut() -> None:
            if not partition.is_leader and partition.leader_epoch == position.leader_epoch:
                partition.truncate(offset, self._broker.clock.now())

        await self._broker.partitions.cut(partition, offset, cut)

    async def _start_over(self, partition: Partition, part: PartitionData) -> None:
        """Our end is outside the leader's log: before its start we begin anew there, past its end the epochs decide."""
        start = part.log_start_offset
        self._back_off(partition)

        def restart() -> None:
            if not partition.is_leader:
                log.warning("%s: the leader's log starts at %d; starting over there", partition.id, start)
                partition.restart_at(start, self._broker.clock.now())

        if start > partition.log.end_offset:
            await self._broker.partitions.cut(partition, partition.log.start_offset, restart)

    def _back_off(self, partition: Partition, seconds: float = PARTITION_BACKOFF_SECONDS) -> None:
        """Out of the session for a while: left in it, every fetch would be answered at once with the same trouble."""
        self._not_before[partition.id] = asyncio.get_running_loop().time() + seconds


def _position(partition: Partition) -> Position:
    return Position(partition.leader_epoch, partition.proven_end, partition.log.active_epoch, partition.high_watermark)


class Syncing:
    """Waits until all that one response brought is on disk."""

    def __init__(self) -> None:
        self._left = 0
        self._done: asyncio.Future[None] | None = None

    def add(self) -> None:
        self._left += 1

    def on_reached(self, part: object) -> None:
        self._left -= 1
        if self._left == 0 and self._done is not None and not self._done.done():
            self._done.set_result(None)

    def on_lost(self, part: object, code: int) -> None:
        self.on_reached(part)

    async def until_done(self) -> None:
        if self._left:
            self._done = asyncio.get_running_loop().create_future()
            await self._done
