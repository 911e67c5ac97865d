"""Following: one task for each leader, which copies all partitions that it leads and we follow.

    fetch ─▶ append ─▶ sync every touched file ─▶ fetch again, from what is now on disk

The offset of a fetch is a promise to the leader: all below it survives here. So the next fetch waits for the sync, and
says the synced end. Sessions keep a fetch as small as what changed. When histories part, the leader says where, and we
cut there, after the recovery point that makes the cut safe is on disk.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.base.ids import TopicPartition
from headrace.broker.replication.catch_up import CatchUp
from headrace.broker.replication.copier import PARTITION_BACKOFF_SECONDS, CopyHome, ReplicaCopier, Syncing
from headrace.client.connection import ClientConnection, Disconnected
from headrace.partition.follow_session import FollowSession
from headrace.partition.partition import Partition
from headrace.wire.codes import ErrorCode
from headrace.wire.messages.fetch import (
    FetchRequest,
    FetchResponse,
    ReplicaState,
)

if TYPE_CHECKING:
    from headrace.broker.broker import Broker

logger = logging.getLogger("headrace.fetcher")

FETCH_VERSION = 18
CONNECT_SECONDS_MAX = 1.0
BACKOFF_SECONDS = 0.05
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
        home = CopyHome(
            broker.id,
            broker.clock.now,
            broker.disk_room.check_copy,
            broker.hosting.checkpoints.before_cut,
            broker.isr_keeper.leave,
        )
        self._copier = ReplicaCopier(leader_id, home, self._session, catch_up)

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
                    await self._copier.take(partition, position, part, syncing)
        await syncing.until_done()
