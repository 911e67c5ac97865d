"""What the handlers of one broker work with: the image, the partitions, the clock, and the few rules they share.

Holds, does not run: `node` builds it, starts it and stops it.
"""

import asyncio
import logging
import random
import uuid
from collections.abc import Collection, Iterable, Mapping

from headrace.base.clock import Clock, Now
from headrace.base.disk import Disk
from headrace.base.errors import Refused, StoreUnreachable
from headrace.base.probe import Probes
from headrace.broker.coordinators.groups import GroupCoordinators
from headrace.broker.coordinators.markers import Markers
from headrace.broker.coordinators.producer_ids import ProducerIdBlocks
from headrace.broker.coordinators.transactions import TransactionCoordinators
from headrace.broker.disk.room import DiskRoom
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.handlers import HANDLERS
from headrace.broker.membership.clock_watch import ClockWatch
from headrace.broker.membership.controller import Controller
from headrace.broker.membership.leaderless import Leaderless
from headrace.broker.membership.membership import Membership
from headrace.broker.membership.metadata import Metadata, Plan
from headrace.broker.membership.new_leaders import NewLeaders
from headrace.broker.membership.seen_revision import SeenRevision
from headrace.broker.net.deadlines import Deadlines
from headrace.broker.net.dispatch import Dispatch
from headrace.broker.net.hung_peers import HungPeers
from headrace.broker.net.listener import Listener
from headrace.broker.net.peers import Peers
from headrace.broker.partitions import Partitions
from headrace.broker.replication.fetchers import Fetchers
from headrace.broker.replication.isr_keeper import IsrKeeper
from headrace.broker.replication.rot import Rot
from headrace.broker.tasks import Tasks
from headrace.broker.upkeep.cleaner import Cleaner
from headrace.broker.upkeep.credible_time import CredibleTime
from headrace.broker.upkeep.retention import Retention
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.changes import Creation, NewTopic, create_topic
from headrace.cluster.entities import INTERNAL_TOPICS, Topic
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.image import Image
from headrace.cluster.registration import listed_brokers
from headrace.cluster.room import reluctant_leaders
from headrace.cluster.store import Commit, MetaStore
from headrace.partition.fetch_session import FetchSessions
from headrace.partition.partition import Partition
from headrace.partition.refusals import RefusedBatches
from headrace.wire.codes import ErrorCode

log = logging.getLogger("headrace.broker")

# Who creates a topic is told when it can be written, if that does not take long: else its first writes are sent again.
OPEN_SECONDS_MAX = 5.0


class Broker:
    listener: Listener
    membership: Membership
    partitions: Partitions
    disk_room: DiskRoom
    seen_revision: SeenRevision
    disk_watch: DiskWatch
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
    ) -> None:
        self.id = broker_id
        self.tasks = tasks
        self.live: Mapping[int, int] = {}
        self._leases: Mapping[int, int] = {}
        self.clock = clock
        self.disk = disk
        self.config = config
        self.rng = rng
        self.probes = probes
        self.fetch_bytes_max = config.number("fetch.max.bytes")
        self.deadlines = Deadlines(loop)
        self.metadata = Metadata(store, self._on_image, clock.mono)
        self.producer_ids = ProducerIdBlocks(self.metadata)
        self.sessions = FetchSessions(
            config.number("max.incremental.fetch.session.cache.slots"), lambda: rng.randrange(1, 1 << 31), loop.time
        )
        self.fetchers = Fetchers(self)
        self.isr_keeper = IsrKeeper(self)
        self.rot = Rot(self)
        # Held while a coordinator replays a stretch of its log: one stretch in a turn of the loop, whoever loads.
        self.loading = asyncio.Lock()
        self.coordinators = GroupCoordinators(self)
        self.transactions = TransactionCoordinators(self)
        self.peers = Peers(self)
        self.hung_peers = HungPeers(self)
        self.new_leaders = NewLeaders(self)
        self.markers = Markers(self)
        self.controller = Controller(self)
        self.leaderless = Leaderless()
        self.refused_batches = RefusedBatches()
        self.credible_time = CredibleTime(clock.now())
        self._clock_watch = ClockWatch(broker_id)
        self.dispatch = Dispatch(self, HANDLERS)

    @property
    def image(self) -> Image:
        return self.metadata.image

    @property
    def controller_id(self) -> int:
        """A live broker that takes admin requests. All do, so the one that was asked will do until there is one."""
        claim = self.image.controller
        return claim.broker_id if claim is not None and claim.broker_id in self.live else self.id

    async def _on_image(self, image: Image) -> None:
        self.new_leaders.on_image(image)
        mine, everyone = image.overrides_of(self.id), image.overrides_of(None)
        if mine != self.config.dynamic or everyone != self.config.dynamic_default:
            self.config = self.config.with_dynamic(mine, everyone)
            self.fetch_bytes_max = self.config.number("fetch.max.bytes")
        self._find_live()
        self._compare_clocks(image)
        changed = await self.partitions.reconcile(image, self.config)
        self._follow(changed)
        self.controller.wake()

    def _compare_clocks(self, image: Image) -> None:
        for broker_id, ahead_ms in self._clock_watch.look(
            image.brokers, self.clock.now().wall, not self.partitions.is_fenced
        ):
            apart = {"other_broker": broker_id, "seconds": abs(ahead_ms) / 1000}
            if ahead_ms < 0:
                log.warning(
                    "the clock of broker %(other_broker)d is %(seconds).0f s behind ours: timestamps will differ. Run NTP",
                    apart,
                )
            else:
                log.warning(
                    "the clock of broker %(other_broker)d is %(seconds).0f s ahead of ours: timestamps will differ. Run NTP",
                    apart,
                )

    # -- who is alive, ourselves among them ------------------------------------------------------------------------

    def on_leases(self, leases: Mapping[int, int]) -> None:
        """Broker id → epoch of every broker whose lease has not run out."""
        self._leases = leases
        self._find_live()
        self.controller.wake()

    def _find_live(self) -> None:
        registered, before = self.image.brokers, self.live
        self.live = {
            broker_id: epoch
            for broker_id, epoch in self._leases.items()
            if broker_id in registered and registered[broker_id].epoch == epoch
        }
        self.hung_peers.on_live(before, self.live)
        self.new_leaders.wake()

    @property
    def reluctant(self) -> Collection[int]:
        """Brokers that lead only where nobody else can."""
        return reluctant_leaders(self.image.brokers, self.live)

    @property
    def leaving(self) -> Collection[int]:
        return [broker_id for broker_id in self.live if self.image.brokers[broker_id].leaving]

    def listed_brokers(self) -> list[Registration]:
        """Whom clients are told of."""
        return listed_brokers(self.image.brokers, self.live)

    @property
    def epoch(self) -> int:
        return self.membership.epoch

    def on_joined(self) -> None:
        self.partitions.is_fenced = False
        self._leases = {**self._leases, self.id: self.epoch}
        self._find_live()
        self._follow(self.partitions)

    def on_renewed(self) -> None:
        """Whoever fenced itself in doubt, and finds that its lease never ran out, goes on as what it was."""
        if self.partitions.is_fenced and self.clock.now().mono <= self.membership.deadline:
            log.info("broker %(broker)d still has its lease", {"broker": self.id, "broker_epoch": self.epoch})
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
        """From here on nothing is answered as a leader, and who waits is sent to look for one."""
        if not self.partitions.is_fenced:
            log.warning("broker %(broker)d is fenced: %(cause)s", {"broker": self.id, "cause": cause})
            self.partitions.fence()
            self.coordinators.stop()
            self.transactions.stop()

    async def create_topic(self, new: NewTopic, validate_only: bool = False, turn: int = 0) -> Topic:
        """The topic as it was created. Its id is new every time, also when a conflict makes it try again."""
        creation: Creation | None = None

        def plan(image: Image) -> list[Commit]:
            nonlocal creation
            staying = self.live.keys() - set(self.leaving)
            creation = create_topic(image, staying, new, self.rng.randbytes(16), self.config, turn)
            return creation.commits

        await self.change_placement(new.name, plan, validate_only)
        assert creation is not None
        return creation.topic

    async def change_placement(self, topic: str, plan: Plan, validate_only: bool) -> None:
        """A change that needs live brokers, and makes partitions of this topic: our own can be written when it returns,
        unless the disk takes long."""
        await self._change_placement(plan, validate_only)
        await self.partitions.until_opened(topic, OPEN_SECONDS_MAX)

    async def _change_placement(self, plan: Plan, validate_only: bool) -> None:
        """Brokers that seem to be missing may have joined, and we have not heard of it."""
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
            if replica in self.live and brokers[replica].rack == rack and leader.end_of(replica) >= offset:
                return replica
        return None

    def check_may_write(self, partition: Partition) -> None:
        if partition.is_internal:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{partition.id.topic} is written by brokers only")
        self.disk_room.check()

    def check_may_delete(self, topic: str) -> None:
        if topic in INTERNAL_TOPICS:
            raise Refused(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is kept by brokers only")
