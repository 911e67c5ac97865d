"""Following: one task for each leader, which copies all partitions that it leads and we follow.

    fetch ─▶ append ─▶ sync every touched file ─▶ fetch again, from what is now on disk

The offset of a fetch is a promise to the leader: all below it survives here. So the next fetch waits for the sync, and
says the synced end. Sessions keep a fetch as small as what changed. When histories part, the leader says where, and we
cut there, after the recovery point that makes the cut safe is on disk.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from headrace.base.errors import DiskFull
from headrace.base.ids import TopicPartition
from headrace.broker.replication.catch_up import CatchUp
from headrace.client.connection import ClientConnection, Disconnected
from headrace.partition.follow_session import FollowSession, Position
from headrace.partition.partition import Partition
from headrace.replica.follower import base_around, cut_for, sound_batches
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    PartitionData,
    ReplicaState,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

logger = logging.getLogger("headrace.fetcher")

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


class Fetcher:
    def __init__(self, broker: "Broker", leader_id: int, catch_up: CatchUp) -> None:
        self.leader_id = leader_id
        self._broker = broker
        self._catch_up = catch_up
        self._session = FollowSession(broker.id)
        self._connection: ClientConnection | None = None
        self._session_id = 0
        self._session_epoch = 0
        self._is_sessionless = False
        self._unproven: dict[Partition, None] = {}
        self._changed = asyncio.Event()
        self._stopped = False
        # Told once.
        self._is_denied = False

    def start(self) -> None:
        self._broker.tasks.start(f"fetch from {self.leader_id}", self._run())

    def stop(self) -> None:
        self._stopped = True
        for partition in self._session:
            self._session.unfollow(partition)
        self._changed.set()
        if self._connection is not None:
            self._connection.close()

    @property
    def is_needed(self) -> bool:
        return len(self._session) > 0

    def follow(self, partition: Partition) -> None:
        self._session.follow(partition)
        self._unproven[partition] = None
        self._changed.set()

    def unfollow(self, partition: Partition) -> None:
        self._session.unfollow(partition)
        self._unproven.pop(partition, None)
        self._changed.set()

    # -- the loop ----------------------------------------------------------------------------------------------------

    async def _run(self) -> None:
        while not self._stopped:
            try:
                await self._connect()
                while not self._stopped:
                    await self._round()
            except Disconnected as error:
                if self._stopped:
                    return
                logger.debug("fetch from broker %(leader)d: %(cause)s", {"leader": self.leader_id, "cause": error})
                self._forget_session()
                await self._pause(BACKOFF_SECONDS)

    async def _connect(self) -> None:
        if self._connection is not None and not self._connection.is_lost:
            return
        leader = self._broker.image.brokers.get(self.leader_id)
        if leader is None:
            raise Disconnected("the leader is not registered")
        self._forget_session()
        name = f"broker-{self._broker.id}-fetcher"
        self._connection = await self._broker.dialler.open(leader, name, CONNECT_SECONDS_MAX)

    def _forget_session(self) -> None:
        # The next fetch begins another and names the old one, so that the leader lets go of it.
        self._session_epoch = 0
        self._session.forget()

    async def _pause(self, seconds: float) -> None:
        self._changed.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            pass

    async def _round(self) -> None:
        assert self._connection is not None
        await self._until_proven()
        request = self._build_request()
        if self._session.is_empty:
            if self._session.has_news:
                return
            self._forget_session()
            await self._pause(PARTITION_BACKOFF_SECONDS)
            return
        patience = (request.max_wait_ms + self._broker.view.config.number("replica.socket.timeout.ms")) / 1000
        response = await self._connection.ask(request, FetchResponse, FETCH_VERSION, patience)
        if response.error_code:
            if response.error_code not in _SESSION_ERRORS:
                await self._pause(PARTITION_BACKOFF_SECONDS)
            self._forget_session()
            return
        self._session_id = response.session_id
        self._session_epoch = (self._session_epoch % 0x7FFFFFFF) + 1 if response.session_id else 0
        self._is_sessionless = not response.session_id
        await self._take(response)
        if self._is_sessionless:
            self._session.forget()

    async def _until_proven(self) -> None:
        """Waits until all that we have from another leader, or led ourselves, is on disk: else we would ask for it again."""
        while self._unproven:
            syncing = Syncing()
            for partition in list(self._unproven):
                if partition.until_proven(syncing):
                    syncing.add()
                else:
                    del self._unproven[partition]
            # Lost, not reached, when a state changes meanwhile: so all are looked at again.
            await syncing.until_done()

    def _build_request(self) -> FetchRequest:
        config = self._broker.view.config
        now = asyncio.get_running_loop().time()
        held_back = self._catch_up.held_back(self._session.behind, now)
        news = self._session.news(held_back, config.number("replica.fetch.max.bytes"), now)
        # With more to say the answer is not waited for. Without a session there always is, and that would never end.
        is_brief = self._session.has_news and not self._is_sessionless
        return FetchRequest(
            replica_state=ReplicaState(self._broker.id, self._broker.view.epoch),
            max_wait_ms=0 if is_brief else config.number("replica.fetch.wait.max.ms"),
            min_bytes=config.number("replica.fetch.min.bytes"),
            max_bytes=config.number("replica.fetch.response.max.bytes"),
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=news.topics,
            forgotten_topics_data=news.forgotten if self._session_epoch else [],
        )

    # -- taking ------------------------------------------------------------------------------------------------------

    async def _take(self, response: FetchResponse) -> None:
        names = self._broker.image.topic_names
        syncing = Syncing()
        for topic in response.responses:
            name = names.get(topic.topic_id)
            if name is None:
                continue
            for part in topic.partitions:
                id = TopicPartition(name, part.partition_index)
                partition = self._session.find(id)
                position = self._session.told(id)
                if partition is None or position is None or partition.is_gone:
                    # Gone, and we are told so in a moment: an image with much in it takes several turns.
                    continue
                if partition.leader_epoch == position.leader_epoch:
                    await self._take_part(partition, position, part, syncing)
        await syncing.until_done()

    async def _take_part(
        self, partition: Partition, position: Position, part: PartitionData, syncing: "Syncing"
    ) -> None:
        if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            await self._start_over(partition, position, part)
        elif part.error_code:
            if part.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED and not self._is_denied:
                self._is_denied = True
                logger.error(
                    "broker %(leader)d lets us copy nothing: name this broker's principal in super.users of every broker",
                    {"leader": self.leader_id},
                )
            self._back_off(partition)
        elif part.diverging_epoch is not None:
            await self._cut(partition, part.diverging_epoch, position)
        elif self._has_our_head(partition, part):
            await self._start_over(partition, position, part)
        else:
            if not part.records or not await self._began_inside_a_batch(partition, position, part):
                self._take_word(partition, position, part)
            if partition.until_proven(syncing):
                syncing.add()

    async def _began_inside_a_batch(self, partition: Partition, position: Position, part: PartitionData) -> bool:
        """DeleteRecords may leave a leader's log with a start in the midst of a batch. A replica that begins there has to
        take that batch whole, so its own log begins a little earlier."""
        if partition.log.start_offset < partition.log.end_offset:
            return False
        base_offset = base_around(part.records, partition.log.end_offset)
        if base_offset is None:
            return False

        def restart() -> None:
            if _follows_on(partition, position):
                partition.following.restart_at(base_offset, self._broker.clock.now())
                self._take_word(partition, position, part)

        await self._cut_at(partition, base_offset, restart, base_offset)
        return True

    def _take_word(self, partition: Partition, position: Position, part: PartitionData) -> None:
        """The leader saw no divergence below our offset; what it sent, if we could append it, goes on from there."""
        matching_end = self._append(partition, part.records, position) if part.records else position.offset
        partition.following.on_leader_word(part.high_watermark, part.log_start_offset, matching_end)

    def _append(self, partition: Partition, records: memoryview, position: Position) -> int:
        """Up to where our log is now known to be the leader's."""
        end, headers = sound_batches(
            records, partition.log.end_offset, partition.log.state.epochs.latest, position.leader_epoch
        )
        if headers:
            self._catch_up.on_copied(partition, end)
            try:
                self._broker.disk_room.check_copy(end)
                partition.following.append_copies(records[:end], headers, self._broker.clock.now())
                return partition.log.end_offset
            except DiskFull as error:
                self._on_disk_full(partition, error)
        else:
            logger.warning(
                "%(topic)s-%(partition)d: what broker %(leader)d sent is not sound; asking again",
                {**partition.id._asdict(), "epoch": position.leader_epoch, "leader": self.leader_id},
            )
            self._back_off(partition)
        return position.offset

    async def _cut(self, partition: Partition, diverging: EpochEndOffset, position: Position) -> None:
        own_epoch, own_end = partition.log.state.epochs.end_of(diverging.epoch, -1, partition.log.end_offset)
        offset = cut_for(diverging.epoch, diverging.end_offset, own_epoch, own_end, partition.high_watermark)
        logger.info(
            "%(topic)s-%(partition)d: cutting back from %(end_offset)d to %(offset)d",
            {
                **partition.id._asdict(),
                "epoch": position.leader_epoch,
                "end_offset": partition.log.end_offset,
                "offset": offset,
            },
        )

        def cut() -> None:
            if _follows_on(partition, position):
                partition.following.truncate(offset, self._broker.clock.now())

        await self._cut_at(partition, offset, cut)

    def _has_our_head(self, partition: Partition, part: PartitionData) -> bool:
        """The leader has what our log lost at its beginning, and nobody counts on our copy."""
        return part.log_start_offset < partition.log.start_offset and self._lacks_head(partition)

    def _lacks_head(self, partition: Partition) -> bool:
        return partition.log.lacks_head and self._broker.id not in partition.state.isr

    def _must_start_over(self, partition: Partition, start: int) -> bool:
        return start > partition.log.end_offset or self._lacks_head(partition)

    async def _start_over(self, partition: Partition, position: Position, part: PartitionData) -> None:
        """Our end is before the leader's start, or our beginning is gone: we begin anew where its log does. Past its end the
        epochs decide."""
        start = part.log_start_offset
        self._back_off(partition)

        def restart() -> None:
            # The disk may have taken its time: what another leader sent meanwhile is counted on.
            if _follows_on(partition, position) and self._must_start_over(partition, start):
                logger.warning(
                    "%(topic)s-%(partition)d: the leader's log starts at %(offset)d; starting over there",
                    {
                        **partition.id._asdict(),
                        "epoch": position.leader_epoch,
                        "leader": self.leader_id,
                        "offset": start,
                    },
                )
                partition.following.restart_at(start, self._broker.clock.now())

        if self._must_start_over(partition, start):
            await self._cut_at(partition, min(start, partition.log.start_offset), restart, start)

    async def _cut_at(
        self, partition: Partition, offset: int, cut: Callable[[], None], start: int | None = None
    ) -> None:
        try:
            await self._broker.hosting.checkpoints.before_cut(partition, offset, cut, start)
        except DiskFull as error:
            self._on_disk_full(partition, error)

    def _on_disk_full(self, partition: Partition, error: DiskFull) -> None:
        logger.error(
            "%(topic)s-%(partition)d cannot follow: %(cause)s",
            {**partition.id._asdict(), "epoch": partition.leader_epoch, "cause": error},
        )
        self._broker.isr_keeper.leave(partition)
        self._back_off(partition, DISK_FULL_SECONDS)

    def _back_off(self, partition: Partition, seconds: float = PARTITION_BACKOFF_SECONDS) -> None:
        self._session.back_off(partition, asyncio.get_running_loop().time() + seconds)


def _follows_on(partition: Partition, position: Position) -> bool:
    """Whether it still follows in the epoch of the fetch that named this position."""
    return not partition.is_leader and partition.leader_epoch == position.leader_epoch


class Syncing:
    """Waits until all that one response brought is on disk."""

    def __init__(self) -> None:
        self._left = 0
        self._done: asyncio.Future[None] | None = None

    def add(self) -> None:
        self._left += 1

    def is_waiting(self, part: object) -> bool:
        return self._left > 0

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
