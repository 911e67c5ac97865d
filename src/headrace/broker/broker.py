"""The parts of one broker, and the few rules that need several of them: leases, new topics, refused writes.

Holds, does not run: `node` builds it, starts it and stops it.
"""

import asyncio
import logging
import random
import uuid
from collections.abc import Iterable, Mapping

from headrace.base.clock import Clock, Now
from headrace.base.disk import Disk
from headrace.base.errors import Refused, StoreUnreachable
from headrace.base.probe import Probes
from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.coordinators.markers import Markers
from headrace.broker.coordinators.producer_ids import ProducerIdBlocks
from headrace.broker.coordinators.transaction_checks import TransactionChecks
from headrace.broker.coordinators.transactions import TransactionCoordinators, transaction_coordinators
from headrace.broker.disk.room import DiskRoom
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.handlers import HANDLERS
from headrace.broker.hosting.hosting import Hosting
from headrace.broker.membership.clock_watch import ClockWatch
from headrace.broker.membership.controller import Controller
from headrace.broker.membership.leaderless import Leaderless
from headrace.broker.membership.membership import Membership
from headrace.broker.membership.metadata import Metadata, Plan
from headrace.broker.membership.new_leaders import NewLeaders
from headrace.broker.membership.seen_revision import SeenRevision
from headrace.broker.membership.view import View
from headrace.broker.net.deadlines import Deadlines
from headrace.broker.net.dialler import Dialler
from headrace.broker.net.dispatch import Dispatch
from headrace.broker.net.hung_peers import HungPeers
from headrace.broker.net.listeners import Listeners
from headrace.broker.net.peers import Peers
from headrace.broker.partitions import Partitions
from headrace.broker.replication.fetchers import Fetchers
from headrace.broker.replication.isr_keeper import IsrKeeper
from headrace.broker.replication.rot import Rot
from headrace.broker.security.authorization import Authorization, open_authorization
from headrace.broker.security.rights import every_right
from headrace.broker.security.token_sessions import TokenSessions
from headrace.broker.tasks import Tasks
from headrace.broker.upkeep.cleaner import Cleaner
from headrace.broker.upkeep.credible_time import CredibleTime
from headrace.broker.upkeep.retention import Retention
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import Creation, NewTopic, create_topic
from headrace.cluster.entities import Topic
from headrace.cluster.image import Image
from headrace.cluster.store import Commit, MetaStore
from headrace.partition.fetch_session import FetchSessions
from headrace.partition.partition import Partition
from headrace.partition.refusals import RefusedBatches
from headrace.wire.codes import ErrorCode

logger = logging.getLogger("headrace.broker")

# CreateTopics is answered when the topic can be written, if that does not take long: else first writes are sent again.
OPEN_SECONDS_MAX = 5.0


class Broker:
    listeners: Listeners
    membership: Membership
    hosting: Hosting
    partitions: Partitions
    disk_room: DiskRoom
    seen_revision: SeenRevision
    disk_watch: DiskWatch
    hung_peers: HungPeers | None = None
    token_sessions: TokenSessions | None = None
    retention: Retention | None = None
    cleaner: Cleaner | None = None

    def __init__(
        self,
        broker_id: int,
        *,
        loop: asyncio.AbstractEventLoop,
        clock: Clock,
        disk: Disk,
        store: MetaStore,
        config: BrokerConfig,
        rng: random.Random,
        probes: Probes,
        tasks: Tasks,
        dialler: Dialler,
    ) -> None:
        # Types are said where the table of handlers asks for them: it is looked at first.
        self.id = broker_id
        self.tasks: Tasks = tasks
        self.clock = clock
        self.disk: Disk = disk
        self.dialler = dialler
        self.rng = rng
        self.probes: Probes = probes
        self.fetch_bytes_max = config.number("fetch.max.bytes")
        self.deadlines = Deadlines(loop)
        self.metadata = Metadata(store, self._on_image, clock.mono)
        self.view: View = View(broker_id, self.metadata, config, clock)
        self.authorization: Authorization | None = open_authorization(config)
        self.rights_of = every_right if self.authorization is None else self.authorization.rights_of
        self.producer_ids: ProducerIdBlocks = ProducerIdBlocks(self.metadata)
        self.sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"), lambda: rng.randrange(1, 1 << 31), loop.time
        )
        self.fetchers = Fetchers(self)
        self.isr_keeper = IsrKeeper(self.view)
        self.rot = Rot(self)
        # Held while a coordinator replays a stretch of its log: one stretch in a turn of the loop, whoever loads.
        self.loading = asyncio.Lock()
        self.coordinators: GroupCoordinators = GroupCoordinators(self)
        self.transactions: TransactionCoordinators = transaction_coordinators(self)
        self.peers: Peers = Peers(self.view, dialler)
        self.transaction_checks: TransactionChecks = TransactionChecks(
            self.view, self.peers, self.transactions, rng.random
        )
        self.new_leaders: NewLeaders = NewLeaders(self.view, tasks, dialler, rng.random)
        self.markers: Markers = Markers(self)
        self.controller = Controller(self.view, probes)
        self.leaderless = Leaderless()
        self.refused_batches = RefusedBatches()
        self.credible_time = CredibleTime(clock.now())
        self._clock_watch = ClockWatch(broker_id)
        self.dispatch: Dispatch = Dispatch(self, HANDLERS)

    @property
    def image(self) -> Image:
        return self.metadata.image

    async def _on_image(self, image: Image) -> None:
        if self.authorization is not None:
            self.authorization.on_acls(image.acls)
        if self.token_sessions is not None:
            self.token_sessions.on_image()
        self.new_leaders.on_image(image)
        before = self.view.live
        self.view.on_image()
        self.fetch_bytes_max = self.view.config.number("fetch.max.bytes")
        self._on_live(before)
        self._compare_clocks(image)
        changed = await self.hosting.reconciliation.reconcile(image, self.view.config)
        self._follow(changed)
        self.controller.wake()

    def _compare_clocks(self, image: Image) -> None:
        for broker_id, ahead_ms in self._clock_watch.look(
            image.brokers, self.clock.now().wall, not self.partitions.is_fenced
        ):
            apart = {"other_broker": broker_id, "seconds": abs(ahead_ms) / 1000}
            if ahead_ms < 0:
                logger.warning(
                    "the clock of broker %(other_broker)d is %(seconds).0f s behind ours: timestamps will differ. Run NTP",
                    apart,
                )
            else:
                logger.warning(
                    "the clock of broker %(other_broker)d is %(seconds).0f s ahead of ours: timestamps will differ. Run NTP",
                    apart,
                )

    # -- who is alive, ourselves among them ------------------------------------------------------------------------

    def on_leases(self, leases: Mapping[int, int]) -> None:
        """Broker id → epoch of every broker whose lease has not run out."""
        before = self.view.live
        self.view.on_leases(leases)
        self._on_live(before)
        self.controller.wake()

    def _on_live(self, before: Mapping[int, int]) -> None:
        if self.hung_peers is not None:
            self.hung_peers.on_live(before, self.view.live)
        self.new_leaders.wake()

    def on_joined(self) -> None:
        self.partitions.is_fenced = False
        before = self.view.live
        self.view.on_joined()
        self._on_live(before)
        self._follow(self.partitions)

    def on_renewed(self) -> None:
        """Goes on as before, when the broker had fenced itself in doubt and its lease never ran out."""
        if self.partitions.is_fenced and self.clock.now().mono <= self.membership.deadline:
            logger.info("broker %(broker)d still has its lease", {"broker": self.id, "broker_epoch": self.view.epoch})
            self.on_joined()

    def on_opened(self, opened: list[Partition]) -> None:
        """Partitions that the image has given us, and that can be served from now on."""
        self._follow(opened)

    def new_uuid(self) -> str:
        return str(uuid.UUID(bytes=self.rng.randbytes(16), version=4))

    def _follow(self, changed: Iterable[Partition]) -> None:
        self.new_leaders.on_partitions(changed)
        if self.partitions.is_fenced:
            self.fetchers.stop()
        else:
            self.fetchers.update(changed)
        self.coordinators.reconcile()
        self.transactions.reconcile()

    def check_lease(self) -> Now:
        """The time, after making sure that at this time we may still answer."""
        now = self.clock.now()
        if not self.partitions.is_fenced and now.mono > self.membership.deadline:
            self.fence("it could not renew its lease in time")
        return now

    def has_lease(self) -> bool:
        self.check_lease()
        return not self.partitions.is_fenced

    def fence(self, cause: str) -> None:
        """Fences the broker: nothing is answered as a leader from here on, and waiting clients are sent to look for one."""
        if not self.partitions.is_fenced:
            logger.warning("broker %(broker)d is fenced: %(cause)s", {"broker": self.id, "cause": cause})
            self.partitions.fence()
            self.coordinators.stop()
            self.transactions.stop()

    async def create_topic(self, new: NewTopic, validate_only: bool = False, turn: int = 0) -> Topic:
        """The topic as it was created. Its id is new every time, also when a conflict makes it try again."""
        creation: Creation | None = None

        def plan(image: Image) -> list[Commit]:
            nonlocal creation
            staying = self.view.live.keys() - set(self.view.leaving)
            creation = create_topic(image, staying, new, self.rng.randbytes(16), self.view.config, turn)
            return creation.commits

        await self.change_placement(new.name, plan, validate_only)
        assert creation is not None
        return creation.topic

    async def change_placement(self, topic: str, plan: Plan, validate_only: bool) -> None:
        """A change that needs live brokers, and makes partitions of this topic: our own can be written when it returns,
        unless the disk takes long."""
        await self._change_placement(plan, validate_only)
        await self.hosting.openings.until_opened(topic, OPEN_SECONDS_MAX)

    async def _change_placement(self, plan: Plan, validate_only: bool) -> None:
        """Asks the store for live brokers and plans again where too few are known: some may have joined unheard of."""
        try:
            await self.metadata.change(plan, validate_only)
        except Refused as refusal:
            if refusal.code not in (ErrorCode.INVALID_REPLICATION_FACTOR, ErrorCode.INVALID_REPLICA_ASSIGNMENT):
                raise
            await self._look_who_is_alive()
            await self.metadata.change(plan, validate_only)

    async def _look_who_is_alive(self) -> None:
        try:
            await self.metadata.load()
            await self.membership.look_who_is_alive()
        except StoreUnreachable as error:
            raise Refused(ErrorCode.REQUEST_TIMED_OUT, f"the metadata store does not answer: {error}") from error

    def nearest_replica(self, partition: Partition, rack: str, offset: int) -> int | None:
        """A live in-sync replica in the reader's rack that has what it wants, if we are not in that rack ourselves."""
        leader, brokers = partition.leader, self.image.brokers
        if leader is None or self.id not in brokers or brokers[self.id].rack == rack:
            return None
        if offset < partition.log.start_offset:
            # Nobody has it, and only from us does the reader learn where to go on.
            return None
        for replica in leader.isr:
            if replica in self.view.live and brokers[replica].rack == rack and leader.end_of(replica) >= offset:
                return replica
        return None

    def check_may_write(self, partition: Partition) -> None:
        if partition.is_internal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.id.topic} is written by brokers only")
        self.disk_room.check()
