"""A running broker: the order in which its parts start and stop.

    start   lock the directory → load the image → whose is it? → open and recover logs → bind → register → serve
    stop    hand leaderships over → take no more requests → sync what is dirty → answer who waits → give the lease up
            → close logs → write down → mark clean

Recovery comes before registration: nobody may count on a broker that does not know yet what its disk holds. Anything
that goes wrong while it stops leaves no clean mark, and the next start looks at the logs itself.
"""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, cast

from headrace.base.clock import Clock
from headrace.base.disk import Disk
from headrace.base.errors import DiskFull, DiskTooSlow, StoreUnreachable, UserError
from headrace.base.file_sync import Job
from headrace.base.ids import format_id
from headrace.base.probe import Probes
from headrace.broker.broker import Broker
from headrace.broker.checkpoints import Checkpoints
from headrace.broker.disk.directory import DataDirectory
from headrace.broker.disk.flusher import Flusher
from headrace.broker.disk.partition_directories import PartitionDirectories
from headrace.broker.disk.room import DiskRoom
from headrace.broker.disk.sync_threads import THREADS, SyncThreads
from headrace.broker.disk.syncs import OpenSyncs, ThreadsOnly
from headrace.broker.disk.watch import DiskWatch
from headrace.broker.handlers import HANDLERS
from headrace.broker.hosting.hosting import Hosting
from headrace.broker.hosting.log_files import LogFiles
from headrace.broker.hosting.moved import Moved
from headrace.broker.hosting.opener import LifeBefore
from headrace.broker.membership.hand_over import hand_over
from headrace.broker.membership.image_turns import image_of
from headrace.broker.membership.membership import Membership
from headrace.broker.membership.room_to_lead import RoomToLead
from headrace.broker.membership.seen_revision import SeenRevision
from headrace.broker.metrics.loop_lag import LoopLag
from headrace.broker.metrics.server import MetricsServer
from headrace.broker.net.descriptors import Descriptors, descriptor_limit
from headrace.broker.net.dispatch import Dispatch
from headrace.broker.net.hung_peers import HungPeers
from headrace.broker.net.open_listeners import ListenerParts, open_listeners
from headrace.broker.net.traces import Traces, open_traces
from headrace.broker.replication.doubtful_copies import DoubtfulCopies
from headrace.broker.replication.stall_watch import StallWatch
from headrace.broker.security.authorization import warn_of_idle_rules
from headrace.broker.security.logins import Logins
from headrace.broker.security.opening import look_at_certificates, open_dialler, open_tls
from headrace.broker.security.token_sessions import TokenSessions
from headrace.broker.tasks import Tasks
from headrace.broker.turn import Turn
from headrace.broker.upkeep.clean_process import Cleaning
from headrace.broker.upkeep.cleaner import Cleaner
from headrace.broker.upkeep.janitor import Janitor
from headrace.broker.upkeep.removals import Removals
from headrace.broker.upkeep.retention import Retention
from headrace.cluster.broker_config import BrokerConfig
from headrace.cluster.entities import Broker as Registration
from headrace.cluster.image import Image
from headrace.cluster.listeners import plan_listeners
from headrace.cluster.registration import found_cluster
from headrace.cluster.store import Conflict, MetaStore
from headrace.log.clean_job import CleanJob
from headrace.log.pool import FilePool
from headrace.partition.partition import Partition
from headrace.partition.ready import Ready

logger = logging.getLogger("headrace.node")

DRAIN_SECONDS_MAX = 10
HAND_OVER_SECONDS_MAX = 10.0
FOUNDING_TRIES = 5
READ_THREADS = 4


class NodeSettings(NamedTuple):
    broker_id: int
    data: str
    host: str = "127.0.0.1"
    port: int = 9092
    advertised_host: str | None = None
    metrics_port: int | None = 9464
    rack: str | None = None
    overrides: Mapping[str, str] = {}
    """Broker settings by Kafka's names, as given with `--set`."""


class Node:
    broker: Broker

    def __init__(
        self,
        settings: NodeSettings,
        *,
        disk: Disk,
        clock: Clock,
        store: MetaStore,
        rng: random.Random | None = None,
        begin_cleaning: Callable[[CleanJob], Cleaning] | None = None,
        open_syncs: OpenSyncs = ThreadsOnly,
    ) -> None:
        """`begin_cleaning` starts a compaction somewhere else than on this loop; without it there is none. `open_syncs`
        opens the sync runner for the data directory."""
        self.settings = settings
        self.port = settings.port
        self.metrics_port = settings.metrics_port
        self.probes = Probes()
        self._disk = disk
        self._clock = clock
        self._store = store
        self._rng = rng or random.SystemRandom()
        self._begin_cleaning = begin_cleaning
        self._open_syncs = open_syncs
        self._config = BrokerConfig(settings.overrides)
        self._plan = plan_listeners(self._config, settings.host, settings.port, settings.advertised_host)
        self._directory = DataDirectory(disk, settings.data)
        self._descriptors = Descriptors(descriptor_limit())
        self._metrics: MetricsServer | None = None
        self._traces: Traces | None = None
        self._logins: Logins | None = None
        self._unlock: Job | None = None
        self._released = False
        self._stopped: asyncio.Future[None] | None = None
        self._stopping = False

    # -- starting --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._stopped = loop.create_future()
        self._sync_threads = ThreadPoolExecutor(THREADS, "sync")
        self._read_threads = ThreadPoolExecutor(READ_THREADS, "read")
        self._syncs = self._open_syncs(self.settings.data, SyncThreads(loop, self._clock, self._sync_threads).run)
        self._tasks = Tasks(self._on_failure)
        self._tls = open_tls(self._plan, lambda: self.broker.view.config if hasattr(self, "broker") else self._config)
        self.broker = Broker(
            self.settings.broker_id,
            loop=loop,
            clock=self._clock,
            disk=self._disk,
            store=self._store,
            config=self._config,
            rng=self._rng,
            probes=self.probes,
            tasks=self._tasks,
            dialler=open_dialler(self._plan, self._config, self._tls),
        )
        self._traces = open_traces(self.broker.view)
        if self._traces is not None:
            self.broker.dispatch = Dispatch(self.broker, map(self._traces.traced, HANDLERS))
        self._watch = self.broker.disk_watch = DiskWatch(
            loop, self._sync_threads, self._probe_disk, self._config.number("log.disk.hang.timeout.ms")
        )
        self._ready: Ready[Partition] = Ready()
        flusher = Flusher(
            loop,
            self._clock,
            self._watch.watched(self._syncs.run),
            self.probes,
            self._ready.sync,
            self._on_failure,
        )
        self._turn = Turn(
            loop,
            self._ready,
            flusher,
            self.broker.has_lease,
            self.broker.isr_keeper.propose,
            self.probes,
            self._on_failure,
        )
        try:
            self._unlock = self._directory.lock()
            await self._serve_health()
            await self._open_logs()
            await self._serve()
        except BaseException:
            await self._release()
            raise
        logger.info(
            "broker %(broker)d serves on %(host)s:%(port)d",
            {
                "broker": self.settings.broker_id,
                "broker_epoch": self.broker.view.epoch,
                "host": self._plan.listeners[0].host,
                "port": self.port,
            },
        )

    async def _serve_health(self) -> None:
        """Serves health from here on, so that a broker that reads its logs for minutes is seen to live."""
        if self.settings.metrics_port is not None:
            self._metrics = MetricsServer(self.broker)
            self.metrics_port = await self._metrics.start(self.settings.host, self.settings.metrics_port)

    async def _open_logs(self) -> None:
        image = await self._found_or_join()
        self._directory.claim(image.cluster_id, self.settings.broker_id, lambda: format_id(self._rng.randbytes(16)))
        broker = self.broker
        warn_of_idle_rules(broker.authorization, image.acls)
        broker.disk_room = DiskRoom(self._disk, self.settings.data, self.probes)
        broker.seen_revision = SeenRevision(self._disk, self.settings.data, self._watch)
        broker.seen_revision.compare(image.revision)
        self._was_clean = self._directory.take_clean_mark()
        broker.hosting = self._host(LifeBefore(self._was_clean, self._is_same_boot(image)))
        broker.partitions = broker.hosting.partitions
        await broker.metadata.begin(image)
        await broker.hosting.openings.open_waiting()
        broker.hosting.set_strays_aside(broker.image)
        # What a crash left in the page cache only is on disk before anybody asks: offsets that were seen are not unseen.
        await self._turn.until_synced()

    def _host(self, before: LifeBefore) -> Hosting:
        disk, path = self._disk, self.settings.data
        pool = FilePool(disk, self._descriptors.files_max)
        files = LogFiles(PartitionDirectories(disk, path), pool, Removals(disk, self._sync_threads))
        checkpoints = Checkpoints(disk, path, self._watch, Moved(self._ready))
        return Hosting(
            self.settings.broker_id,
            files,
            checkpoints,
            self._ready,
            self._clock,
            self._watch,
            before,
            self.broker.on_opened,
        )

    def _probe_disk(self) -> None:
        self._disk.write_atomic(f"{self.settings.data}/disk-watch", b"1")

    def _is_same_boot(self, image: Image) -> bool:
        """Only the process died since we were last here: whatever it wrote is there, synced or not."""
        before = image.brokers.get(self.settings.broker_id)
        return before is not None and before.boot_id == self._clock.boot_id() != ""

    async def _found_or_join(self) -> Image:
        """The cluster as it is; on an empty store the first broker to come founds it."""
        for _ in range(FOUNDING_TRIES):
            image = await image_of(await self._store.load())
            if image.cluster is not None:
                return image
            founding = found_cluster(format_id(self._rng.randbytes(16)))
            with contextlib.suppress(Conflict):
                await self._store.commit(founding.puts, founding.expect)
        raise UserError("the metadata store takes no writes", "Look at the store's own log.")

    async def _serve(self) -> None:
        broker = self.broker
        listeners = broker.listeners = open_listeners(
            self._plan,
            broker.view.config,
            self._tls,
            self._descriptors,
            ListenerParts(broker.dispatch, broker.rights_of, self.probes, self._read_threads, self._on_failure),
        )
        broker.hung_peers = HungPeers(broker.view, self._tasks, broker.partitions, listeners, broker.dialler)
        if any(each.plan.has_sasl for each in listeners):
            self._logins = Logins(broker.view, self._clock, self._rng, self._tasks)
            await self._logins.open_gates(listeners)
            sessions = broker.token_sessions = TokenSessions(broker.view, lambda: listeners.connections)
            self._tasks.start("expired tokens", sessions.strike_off_expired())
        self.port = await listeners.bind()
        await self._join()
        if self._logins is not None:
            await self._logins.prepare()
        await listeners.serve()
        if self._tls:
            self._tasks.start("certificates", look_at_certificates(self._tls, self._read_threads))
        self._tasks.start("janitor", Janitor(self.broker).run())
        self._tasks.start("stall watch", StallWatch(self.broker.view, self.broker.hosting.checkpoints.moved).run())
        self._tasks.start("loop lag", LoopLag(self.probes).run())
        self._keep_tidy()

    def _keep_tidy(self) -> None:
        broker = self.broker
        broker.retention = Retention(broker.view, broker.partitions, broker.hosting.checkpoints, broker.credible_time)
        self._tasks.start("retention", broker.retention.run())
        if self._begin_cleaning is not None and self._config.flag("log.cleaner.enable"):
            broker.cleaner = Cleaner(
                broker.view,
                broker.partitions,
                broker.credible_time,
                self._disk,
                broker.disk_room,
                self._sync_threads,
                self._begin_cleaning,
            )
            self._tasks.start("cleaner", broker.cleaner.run())

    async def _join(self) -> None:
        broker, settings, boot_id = self.broker, self.settings, self._clock.boot_id()
        called = broker.listeners.for_brokers
        me = Registration(
            settings.broker_id,
            epoch=0,
            host=called.host,
            port=called.port,
            rack=settings.rack or cast(str | None, self._config.value("broker.rack")) or None,
            metrics_port=self.metrics_port,
            boot_id=boot_id,
            directory_id=self._directory.id,
            disk_id=f"{boot_id}/{self._disk.device(settings.data)}" if boot_id else "",
            endpoints=() if self._plan.is_plain else broker.listeners.endpoints,
        )
        before = broker.image.brokers.get(settings.broker_id)
        lost_page_cache = before is not None and not self._is_same_boot(broker.image) and not self._was_clean
        membership = broker.membership = Membership(broker, me, lost_page_cache)
        self._tasks.start("disk watch", self._watch.run())
        self._tasks.start("openings", broker.hosting.openings.run())
        self._tasks.start("metadata", broker.metadata.run_watch())
        await membership.join()
        self._tasks.start("lease", membership.run())
        self._tasks.start("leases", membership.run_watch())
        self._tasks.start("isr", broker.isr_keeper.run())
        self._tasks.start(
            "doubtful copies", DoubtfulCopies(broker.view, broker.partitions, broker.hosting.doubts).run()
        )
        self._tasks.start("room to lead", RoomToLead(broker.view, broker.partitions, broker.disk_room).run())
        self._tasks.start("controller", broker.controller.run())

    # -- stopping --------------------------------------------------------------------------------------------------

    async def stop(self) -> None:
        """Cleanly: everything acknowledged or not is on disk, and the next start need not look."""
        if self._stopping or self._stopped is None or self._stopped.done():
            return
        self._stopping = True
        cause: Exception | None = None
        try:
            await self._leave_cluster()
            await self._drain()
            await self._close_logs()
        except DiskFull as full:
            logger.warning(
                "stopped on a full disk, so the next start will look at all logs: %(cause)s", {"cause": full}
            )
        except Exception as error:
            fields = {"broker": self.settings.broker_id, "cause": error}
            logger.critical("broker %(broker)d could not stop cleanly: %(cause)s", fields, exc_info=error)
            cause = error
        else:
            logger.info("broker %(broker)d stopped cleanly", {"broker": self.settings.broker_id})
        # Told only when everything is given back: who waits for it may start another broker on the same directory.
        await self._release()
        self._end(cause)

    async def _leave_cluster(self) -> None:
        """Hands leaderships over before we are gone, so that our leases need not run out first."""
        broker = self.broker
        try:
            async with asyncio.timeout(HAND_OVER_SECONDS_MAX):
                await hand_over(broker.view)
        except TimeoutError:
            logger.warning("the other brokers did not take over in %(seconds).0f s", {"seconds": HAND_OVER_SECONDS_MAX})
        broker.fetchers.stop()
        broker.coordinators.stop()
        broker.transactions.stop()

    async def _drain(self) -> None:
        """Finishes and answers all requests that were read; reads no more."""
        listeners = self.broker.listeners
        listeners.stop_accepting()
        listeners.stop_reading()
        await self._until_synced()
        # One turn for the replies that the last round made ready.
        await asyncio.sleep(0.01)
        listeners.close_connections()
        await self._tasks.stop()
        with contextlib.suppress(StoreUnreachable):
            await self.broker.controller.leave()
            await self.broker.membership.leave()

    async def _until_synced(self) -> None:
        """Counted by the second: a process that stood still meanwhile has lost one, not all its patience."""
        for _ in range(DRAIN_SECONDS_MAX):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    return await self._turn.until_synced()
        raise DiskTooSlow(f"the disk did not take everything in {DRAIN_SECONDS_MAX} s")

    async def _close_logs(self) -> None:
        await self.broker.partitions.close_all(self._turn.until_synced)
        await self.broker.hosting.checkpoints.save()
        await self.broker.seen_revision.save(self.broker.image.revision)
        # The mark stands for every log. One that could not be opened is as the life before left it: the next has to look.
        if not self.broker.hosting.openings.unopened:
            self._directory.leave_clean_mark()

    async def until_stopped(self) -> None:
        """Returns after a clean stop; raises the cause when the node had to stop by itself."""
        assert self._stopped is not None, "not started"
        try:
            await self._stopped
        finally:
            await self._release()

    def _end(self, error: BaseException | None) -> None:
        assert self._stopped is not None
        if self._stopped.done():
            return
        if error is None:
            self._stopped.set_result(None)
        else:
            self._stopped.set_exception(error)
            # Whoever waits is told; if nobody does, the log line above has said it.
            self._stopped.exception()

    async def _release(self) -> None:
        """Gives back everything taken so far, once: a start that failed has taken only some of it."""
        if self._released:
            return
        self._released = True
        await self._tasks.stop()
        self.broker.peers.close()
        self.broker.new_leaders.close()
        if hasattr(self.broker, "listeners"):
            self.broker.listeners.stop_accepting()
            self.broker.listeners.close_connections()
        if self._metrics is not None:
            self._metrics.stop()
        if self._traces is not None:
            await self._traces.stop()
        if self._logins is not None:
            self._logins.close()
        await self._store.close()
        self._syncs.close()
        self._sync_threads.shutdown(wait=False)
        self._read_threads.shutdown(wait=False)
        if self._unlock is not None:
            self._unlock()

    def _on_failure(self, error: BaseException) -> None:
        """Stops at a failure of what we stand on. Nothing is acknowledged from here on; recovery finds what is on disk."""
        if self._stopping or self._stopped is None or self._stopped.done():
            return
        self._stopping = True
        fields = {"broker": self.settings.broker_id, "cause": error}
        logger.critical("broker %(broker)d must stop: %(cause)s", fields, exc_info=error)
        if hasattr(self.broker, "listeners"):
            self.broker.listeners.stop_accepting()
            self.broker.listeners.close_connections()
        self._end(error)
